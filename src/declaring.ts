/** Owns refusing extensions that are added while a request is handled: what they add would end with that request. */

/** The key under which an application tells whether it handles a request, in which the calling code runs. */
export const IS_HANDLING: unique symbol = Symbol("is handling a request");

/** Throws `Error` when a function of an extension is called in a request of the application. */
export function checkDeclaring(
  app: { readonly [IS_HANDLING]: boolean },
  name: string,
): void {
  if (!app[IS_HANDLING]) return;
  throw new Error(
    `Cannot call ${name}() here: a request is being handled; call it once, where the application is declared`,
  );
}
