/** Owns the requests that every contender gets, by name, and what their responses contain. */

/** A request, and what its response must be; all of it is ASCII. */
export interface Row {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent by POST. */
  readonly body?: string;
  readonly status: number;
  readonly contains: string;
  /** Whether waiting for the network takes longer than the handler. */
  readonly isLarge?: boolean;
}

/** What the pages list. */
export const ITEMS: readonly { name: string; price: number }[] = Array.from(
  { length: 10 },
  (_, index) => ({ name: `Thing <${index}>`, price: index * 10 }),
);

/** A page of 4 KB that is a string already. */
export const LARGE: string = `<!doctype html><title>Large</title>${
  "<p>All work and no play</p>".repeat(151)
}`.slice(0, 4_096);

/** A JSON object of 1 KB. */
const CUSTOMER = {
  name: "Ada",
  email: "ada@example.com",
  tags: ["a", "b", "c"],
  orders: Array.from({ length: 17 }, (_, index) => ({
    id: 1_000 + index,
    title: `Thing ${index}`,
    price: index * 1.25,
    paid: index % 2 === 0,
  })),
};

const VALID = JSON.stringify(CUSTOMER);
const INVALID = JSON.stringify({ ...CUSTOMER, email: "nobody" });
const FORM = `name=Ada&email=ada%40example.com&text=${"lorem+".repeat(160)}`;
const UPLOAD =
  `--limit\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\n${
    "x".repeat(1_048_576)
  }\r\n--limit--\r\n`;

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";
const UPLOAD_TYPE = "multipart/form-data; boundary=limit";

/** The requests in the order in which they are shown. */
export const ROWS: Readonly<Record<string, Row>> = {
  text: { path: "/", status: 200, contains: "Hello, World!" },
  parameter: { path: "/user/42", status: 200, contains: "User 42" },
  json: { path: "/json", status: 200, contains: '{"message":"Hello' },
  object: { path: "/object", status: 200, contains: '{"message":"Hello' },
  async: { path: "/async", status: 200, contains: "Hello after three" },
  header: { path: "/header", status: 200, contains: "x-version: 1" },
  page: { path: "/large", status: 200, contains: "All work" },
  vento: { path: "/vento", status: 200, contains: "Thing &lt;9&gt;" },
  missing: { path: "/missing", status: 404, contains: "" },
  thrown: { path: "/order/7", status: 404, contains: "No order 7" },
  refused: { path: "/staff/rota", status: 401, contains: "Log in first" },
  invalid: post("/validated", JSON_TYPE, INVALID, 422, "error"),
  body: post("/body", JSON_TYPE, VALID, 200, "Hello, Ada"),
  validated: post("/validated", JSON_TYPE, VALID, 200, "Hello, Ada"),
  form: post("/form", FORM_TYPE, FORM, 200, "Hello, Ada"),
  upload: {
    ...post("/upload", UPLOAD_TYPE, UPLOAD, 200, "1048576 bytes"),
    isLarge: true,
  },
};

function post(
  path: string,
  type: string,
  body: string,
  status: number,
  contains: string,
): Row {
  const length = String(body.length);
  const headers = { "Content-Type": type, "Content-Length": length };
  return { path, headers, body, status, contains };
}
