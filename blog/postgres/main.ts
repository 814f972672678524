/** Starts the blog as `../main.ts` does, once its database is open. */

import "./app.ts";

await import("../main.ts");
