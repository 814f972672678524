/**
 * Stands in for `@std/testing/time`: a clock that stands still until it is told to go on. The timers of the
 * platform and `Date` follow it as long as it exists.
 */

interface Timer {
  readonly due: number;
  readonly call: () => void;
  /** Milliseconds after which it is due again; nothing for one that fires once. */
  readonly period?: number;
}

type Start = (
  call: (...args: unknown[]) => void,
  milliseconds?: number,
  ...args: unknown[]
) => number;

const platform = {
  Date,
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  timeout: AbortSignal.timeout,
};

/** A clock in place of the platform's, until it is disposed of. */
export class FakeTime implements Disposable {
  #now = platform.Date.now();
  #lastId = 0;
  readonly #timers = new Map<number, Timer>();

  /** Stops the clock. */
  constructor() {
    if (globalThis.Date !== platform.Date) {
      throw new Error("Cannot fake time: another clock has done so");
    }
    const start = this.#start.bind(this);
    const clear = (id?: number): void => void this.#timers.delete(id ?? 0);
    globalThis.Date = this.#date();
    Object.assign(globalThis, {
      setTimeout: start(false),
      clearTimeout: clear,
      setInterval: start(true),
      clearInterval: clear,
    });
    AbortSignal.timeout = (milliseconds) => {
      const controller = new AbortController();
      const reason = new DOMException("Signal timed out.", "TimeoutError");
      setTimeout(() => controller.abort(reason), milliseconds);
      return controller.signal;
    };
  }

  /** The milliseconds since 1970 that the clock shows. */
  get now(): number {
    return this.#now;
  }

  /** Lets what is under way go on for a turn of the event loop, and then so many milliseconds pass. */
  async tickAsync(milliseconds = 0): Promise<void> {
    await new Promise((resolve) => platform.setTimeout(resolve));
    const end = this.#now + milliseconds;
    for (;;) {
      const [id, timer] = this.#next() ?? [];
      if (id === undefined || timer!.due > end) break;
      this.#now = timer!.due;
      this.#fire(id, timer!);
    }
    this.#now = end;
  }

  /** Lets what is under way go on for a turn, and then the timer fire that is due first; returns whether one was. */
  async nextAsync(): Promise<boolean> {
    await this.tickAsync();
    const next = this.#next();
    if (next !== undefined) await this.tickAsync(next[1].due - this.#now);
    return next !== undefined;
  }

  /** Lets the platform's clock go on. */
  [Symbol.dispose](): void {
    const { Date, timeout, ...timers } = platform;
    Object.assign(globalThis, { Date, ...timers });
    AbortSignal.timeout = timeout;
  }

  #start(isRepeated: boolean): Start {
    return (call, milliseconds = 0, ...args) => {
      const delay = Math.max(isRepeated ? 1 : 0, Math.floor(milliseconds));
      this.#timers.set(++this.#lastId, {
        due: this.#now + delay,
        call: () => call(...args),
        ...(isRepeated ? { period: delay } : {}),
      });
      return this.#lastId;
    };
  }

  /** The timer that is due first; of several, the one that was started first. */
  #next(): [id: number, timer: Timer] | undefined {
    return [...this.#timers].toSorted(([, one], [, other]) =>
      one.due - other.due
    )[0];
  }

  #fire(id: number, timer: Timer): void {
    const { period, due } = timer;
    if (period === undefined) this.#timers.delete(id);
    else this.#timers.set(id, { ...timer, due: due + period });
    timer.call();
  }

  /** A `Date` that takes the time of now from this clock. */
  #date(): DateConstructor {
    const now = (): number => this.#now;
    return new Proxy(platform.Date, {
      construct: (target, args, created) =>
        Reflect.construct(target, args.length === 0 ? [now()] : args, created),
      apply: (target) => new target(now()).toString(),
      get: (target, key) => key === "now" ? now : Reflect.get(target, key),
    });
  }
}
