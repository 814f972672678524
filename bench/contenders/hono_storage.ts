/** Hono, whose handlers find their context by its `contextStorage()`: the same convenience as here. */

import { Hono } from "npm:hono@^4";
import { contextStorage, getContext } from "npm:hono@^4/context-storage";
import { addRoutes } from "./hono_app.ts";

const app = new Hono();
app.use(contextStorage());
addRoutes(app, () => getContext());

export const fetch = app.fetch;
