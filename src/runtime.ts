/**
 * Owns access to the internals of Deno's objects, which are under symbols of Deno's own. They are not
 * documented, so each function says what happens when one is missing.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { settlesWithin, sleep } from "./timer.ts";

/** Returns a reader of the property under the symbol of that description; undefined when it is missing. */
export function internalSlot(description: string): (object: object) => unknown {
  let found: symbol | undefined;
  return (object) => {
    found ??= symbolOf(object, description);
    return found && (object as Record<symbol, unknown>)[found];
  };
}

function symbolOf(object: object, description: string): symbol | undefined {
  return [object, Object.getPrototypeOf(object) ?? {}]
    .flatMap((owner) => Object.getOwnPropertySymbols(owner))
    .find((symbol) => symbol.description === description);
}

/** The runtime's record of a request; only that of a served request has these methods. */
interface RequestRecord {
  header?(name: string): unknown;
  onCancel?(callback: () => void): void;
  close?(isSent?: boolean): void;
  _wantsUpgrade?(type: string): Promise<unknown>;
  _throwIfUpgraded?(): void;
}

let requestSymbol: symbol | undefined;

/** Not an `internalSlot()`: V8 reads one symbol faster than several by the same code. */
function recordOf(request: object): RequestRecord | undefined {
  requestSymbol ??= symbolOf(request, "request");
  const slots = request as Record<symbol, RequestRecord | undefined>;
  return requestSymbol && slots[requestSymbol];
}

const signalCache = internalSlot("signalCache");

/**
 * Whether a web request was made with a signal, as each copy of another one is: `new Request(url, request)` and
 * `clone()` take over that of the original. Reading `signal` makes one, so ask before that. False where the runtime
 * keeps signals elsewhere.
 */
export function hasSignal(request: Request): boolean {
  return signalCache(request) !== undefined;
}

/** Whether a server of the runtime has received the request; false where the record is missing. */
export function isFromServer(request: Request): boolean {
  return typeof recordOf(request)?.header === "function";
}

/**
 * A header of a request, or null. Reading `request.headers` makes the runtime copy all headers and send the response a
 * turn later; the record reads a single one. Where the record is missing, `headers` is read; and once the request has
 * its response, or has become a WebSocket, too: what was read of them by then is left.
 */
export function headerOf(request: Request, name: string): string | null {
  const record = recordOf(request);
  if (typeof record?.header !== "function") return request.headers.get(name);
  try {
    const value = record.header(name);
    return typeof value === "string" ? value : null;
  } catch {
    return keptHeaderOf(request, name);
  }
}

function keptHeaderOf(request: Request, name: string): string | null {
  try {
    return request.headers.get(name);
  } catch {
    return null; // nothing was read
  }
}

/**
 * What happens to the upgrade of a request, which may not have been asked for yet, once that has its response. A
 * WebSocket opens in these steps:
 *
 * 1. A handler reads `request().raw` (`application/http_request.ts`), whose upgrade `postponeUpgrade()` makes wait; or
 *    `mount` hands the request on (`handling/mount.ts`), where `forwardUpgrade()` does that for the handed-on one.
 * 2. The handler upgrades it, by `request().upgrade()`, which checks the handshake, bounds the socket and holds the
 *    exchange until that has closed, or by `Deno.upgradeWebSocket()`. Deno makes a response of status 101.
 * 3. That response goes on as it is: `response/web_response.ts` does not copy it, and `debug/handling.ts` adds nothing.
 *    Its headers can be changed, so that `send` and its filters get the response itself.
 * 4. `finishLate` (`handling/handle.ts`) waits for `departuresNoticed()`: the client may have left meanwhile.
 * 5. `complete` calls `finishUpgrade()` with the final status. With 101, Deno opens the socket; with any other, since
 *    something has failed or responded after step 2, the socket gets an error and closes. So does one that is asked for
 *    later, as after a time-out.
 * 6. When a client leaves between the steps 4 and 5, its socket is lost: it gets an error, too, and the request ends.
 *    Deno keeps the connection.
 */
const upgrades = new WeakMap<Request, (status: number) => void>();

/**
 * Makes `Deno.upgradeWebSocket()` of a request wait for `finishUpgrade()`. Deno cannot undo an upgrade: when
 * another response follows, Deno closes its server; when none follows, or the client has left, the connection
 * stays open forever. Wrapping Deno's function would not help, because a handler may call it itself with
 * `request().raw`. Where the record is missing, the upgrade does not wait.
 */
export function postponeUpgrade(request: Request): void {
  const record = recordOf(request);
  if (record === undefined || Object.hasOwn(record, UPGRADE)) return;
  const { [UPGRADE]: upgrade, close } = record;
  if (typeof upgrade !== "function") return;
  let isUpgraded = false;
  upgrades.set(request, () => {
    const state = "its request already has a response";
    record[UPGRADE] = () =>
      Promise.reject(new Error(`Cannot open the WebSocket: ${state}`));
  });
  record[UPGRADE] = (type) => {
    if (isUpgraded) throw new Deno.errors.Http("Already upgraded");
    isUpgraded = true;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const end = Promise.withResolvers<void>();
    let hasLeft = false;
    // Deno warns listeners of `onCancel` about a coming change, unless the request is closed as unsent.
    record.close = () => close?.call(record, false);
    record.onCancel?.(() => {
      hasLeft = true; // once the socket is open, this only says that the response was sent
      end.resolve();
    });
    upgrades.set(request, (status) => {
      if (status !== 101) {
        const state = `the status of the response is ${status}, not 101`;
        return reject(new Error(`Cannot open the WebSocket: ${state}`));
      }
      if (hasLeft) return reject(departure());
      resolve(
        outside(unlessLost, () => upgrade.call(record, type), end.promise),
      );
    });
    return promise;
  };
}

const UPGRADE = "_wantsUpgrade";

function departure(): Error {
  return new Error("Cannot open the WebSocket: the client has disconnected");
}

/** How many seconds Deno gets for opening a socket after it has sent the response, which it does in the same turn. */
const LOST_SECONDS = 0.5;

const lost = Promise.withResolvers<void>();

/** Resolves when the first socket is lost (see `upgrades`): the server of the runtime that had it never stops. */
export const socketLost: Promise<void> = lost.promise;

/** Calls a function without the context of a request. */
const outside = AsyncLocalStorage.snapshot();

/**
 * What `open` resolves to; rejects when it has not settled by the end of the request. Deno keeps what it returned then,
 * and with it the context of this call, but nothing else of the request.
 */
function unlessLost(
  open: () => Promise<unknown>,
  end: Promise<void>,
): Promise<unknown> {
  const { promise, ...settle } = Promise.withResolvers<unknown>();
  let waiting: typeof settle | undefined = settle;
  const opened = open();
  opened.then((id) => waiting?.resolve(id), (why) => waiting?.reject(why));
  end.then(async () => {
    if (await settlesWithin(opened, LOST_SECONDS)) return;
    waiting?.reject(departure());
    waiting = undefined;
    lost.resolve();
  });
  return promise;
}

/** Makes `Deno.upgradeWebSocket()` of the made request upgrade the served one. Does nothing without a record. */
export function forwardUpgrade(served: Request, made: Request): void {
  postponeUpgrade(served);
  const [from, to] = [recordOf(served), recordOf(made)];
  if (from?.[UPGRADE] === undefined || to === undefined) return;
  to[UPGRADE] = (type) => from[UPGRADE]!(type);
  to._throwIfUpgraded = () => from._throwIfUpgraded?.();
}

/**
 * Resolves when Deno has noticed which clients have left, and has called the callbacks of `onCancel`. A WebSocket that
 * is opened for such a client never opens, and keeps its descriptor forever.
 */
export async function departuresNoticed(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await sleep(0.001); // Deno asks the system between two turns, unless it is busy
  // Timers run before the results of Deno's calls. A message comes in the order of these results, and what was
  // started by `setImmediate()` runs after all results of a turn: from there on, only a reset stays unnoticed.
  await messagePassed();
  await new Promise((resolve) => setImmediate(resolve));
}

async function messagePassed(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  await new Promise((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(null);
  });
  port1.close();
  port2.close();
}

/** Opens the WebSocket that waits for the response to a request; with a status other than 101, closes it. */
export function finishUpgrade(request: Request, status: number): void {
  const finish = upgrades.get(request);
  if (finish === undefined) return;
  upgrades.delete(request);
  finish(status);
}
