/**
 * Owns what is asked of every contender: the requests by name, and what each must answer. How a
 * contender answers is its server's.
 */

/** One kind of request. */
export interface Case {
  readonly method?: string;
  readonly path: string;
  /** A form, sent as the body. */
  readonly form?: string;
  readonly status: number;
  /** What the body must contain. */
  readonly contains: string;
  /** Whether the server is started with its filters. */
  readonly filtered?: boolean;
}

/** What the page lists. */
export const ITEMS: readonly { name: string; price: number }[] = Array.from(
  { length: 10 },
  (_, index) => ({ name: `Thing <${index}>`, price: index * 10 }),
);

/** A page of 4 KB that is a string already. */
export const LARGE: string = `<!doctype html><title>Large</title>${
  "<p>All work and no play</p>".repeat(151)
}`.slice(0, 4_096);

/** A form of 1 kB. */
const FORM = `name=Ada&text=${"lorem+ipsum%21+".repeat(68)}`.slice(0, 1_000);

/** What is measured, in the order in which it is shown. */
export const CASES: Readonly<Record<string, Case>> = {
  text: { path: "/", status: 200, contains: "Hello, World!" },
  parameter: { path: "/user/42", status: 200, contains: "User 42" },
  json: { path: "/json", status: 200, contains: '{"message":"Hello' },
  form: {
    method: "POST",
    path: "/form",
    form: FORM,
    status: 200,
    contains: "Hello, Ada",
  },
  vento: { path: "/page", status: 200, contains: "Thing &lt;9&gt;" },
  "4 KB": { path: "/large", status: 200, contains: "All work" },
  "not found": { path: "/missing", status: 404, contains: "" },
  filters: { path: "/", status: 200, contains: "Hello", filtered: true },
  async: { path: "/async", status: 200, contains: "Hello after three" },
};
