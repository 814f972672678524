/** Owns what extensions reach of an application and its requests that is not public: keys, and what asks by them. */

/** Of an application: whether it handles a request, in which the calling code runs. */
export const IS_HANDLING: unique symbol = Symbol("is handling a request");

/** Of an application: an object that only `init()` replaces, by which extensions keep what they have declared. */
export const DECLARATION: unique symbol = Symbol("what has been declared");

/** Of a request: that of the application around, which has passed it on by a mount; undefined for any other. */
export const OUTER_REQUEST: unique symbol = Symbol("the outer request");

/**
 * Of a request: its patterns, that of the application's route and, where that is a mount, of the route of the
 * application there, and so on. The last one is null where no route matched.
 */
export const ROUTE_PATTERNS: unique symbol = Symbol("the patterns of routes");

/** Of a request: hands a call over that code may not await, to the innermost context; what it may forbid waits for it. */
export const TRACK: unique symbol = Symbol("track a call");

/** Of a response: whether its body is a stream of the application, and not that of a web `Response`. */
export const IS_STREAM: unique symbol = Symbol("is a stream");

/** Requests of tests: others with a signal, or clones, may be copies of one that a server has received. */
export const programRequests: WeakSet<Request> = new WeakSet();

/** The request, known as one of a test: its error pages have the message then. Every request that a test makes is. */
export function ofProgram(request: Request): Request {
  programRequests.add(request);
  return request;
}

/** Throws `Error` when a function of an extension is called in a request, with which what it adds would end. */
export function checkDeclaring(
  app: { readonly [IS_HANDLING]: boolean },
  name: string,
): void {
  if (!app[IS_HANDLING]) return;
  throw new Error(
    `Cannot call ${name}() here: a request is being handled; call it once, where the application is declared`,
  );
}
