/** Hono. */

import { Hono } from "npm:hono@^4";
import { addRoutes } from "./hono_app.ts";

const app = new Hono();
addRoutes(app, (context) => context);

export const fetch = app.fetch;
