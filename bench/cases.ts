/**
 * Owns the requests that every contender gets, by name, and what their responses must contain. How a
 * contender responds is written in its server.
 */

/** One kind of request. */
export interface Case {
  readonly method?: string;
  readonly path: string;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, and its content type. */
  readonly body?: readonly [type: string, text: string];
  readonly status: number;
  /** What the response must contain, its head included. */
  readonly contains: string;
  /** Whether the server is started with its filters. */
  readonly filtered?: boolean;
}

/** What the page lists. */
export const ITEMS: readonly { name: string; price: number }[] = Array.from(
  { length: 10 },
  (_, index) => ({ name: `Thing <${index}>`, price: index * 10 }),
);

/** The sections of the site, and the secret of its sessions. */
export const SECTIONS = ["home", "things", "about"] as const;
export const SECRET = "nobody guesses these 32 characters";

/** A page of 4 KB that is a string already. */
export const LARGE: string = `<!doctype html><title>Large</title>${
  "<p>All work and no play</p>".repeat(151)
}`.slice(0, 4_096);

/** A form of three fields and 1 kB. */
const FORM = `name=Ada&email=ada%40example.com&text=${
  "lorem+ipsum%21+".repeat(68)
}`.slice(0, 1_000);

/** A JSON object of 1 kB. */
const DOCUMENT = JSON.stringify({
  name: "Ada",
  email: "ada@example.com",
  tags: ["a", "b", "c"],
  orders: Array.from({ length: 17 }, (_, index) => ({
    id: 1_000 + index,
    title: `Thing ${index}`,
    price: index * 1.25,
    paid: index % 2 === 0,
  })),
});

/** A JSON object that the schema refuses. */
const INVALID = JSON.stringify({ ...JSON.parse(DOCUMENT), email: "nobody" });

/** What is measured, in the order in which it is shown. */
export const CASES: Readonly<Record<string, Case>> = {
  text: { path: "/", status: 200, contains: "Hello, World!" },
  parameter: { path: "/user/42", status: 200, contains: "User 42" },
  header: { path: "/header", status: 200, contains: "x-version: 1" },
  json: { path: "/json", status: 200, contains: '{"message":"Hello' },
  object: { path: "/object", status: 200, contains: '{"message":"Hello' },
  async: { path: "/async", status: 200, contains: "Hello after three" },
  filters: { path: "/", status: 200, contains: "x-count: ", filtered: true },
  "not found": { path: "/missing", status: 404, contains: "" },
  "thrown 404": { path: "/order/7", status: 404, contains: "No order 7" },
  "401 of middleware": {
    path: "/staff/rota",
    status: 401,
    contains: "Log in first",
  },
  form: {
    method: "POST",
    path: "/form",
    body: ["application/x-www-form-urlencoded", FORM],
    status: 200,
    contains: "Hello, Ada",
  },
  "json body": {
    method: "POST",
    path: "/document",
    body: ["application/json", DOCUMENT],
    status: 200,
    contains: "Hello, Ada",
  },
  "json body, validated": {
    method: "POST",
    path: "/validated",
    body: ["application/json", DOCUMENT],
    status: 200,
    contains: "Hello, Ada",
  },
  "422 of a schema": {
    method: "POST",
    path: "/validated",
    body: ["application/json", INVALID],
    status: 422,
    contains: "error",
  },
  vento: { path: "/page", status: 200, contains: "Thing &lt;9&gt;" },
  "4 KB": { path: "/large", status: 200, contains: "All work" },
};
