/** Stands in for `FakeTime` of `@std/testing/time`. The timers of `node:test` would stop the event loop's own, too. */

interface Timer {
  readonly id: number;
  readonly due: number;
  readonly fire: () => void;
}

const platform = { Date, setTimeout, clearTimeout };

/** A clock in place of the platform's, for `Date` and `setTimeout()`, until it is disposed of. */
export class FakeTime implements Disposable {
  #now = Date.now();
  #lastId = 2 ** 30; // beyond those of the platform's timers
  #timers: Timer[] = [];

  /** Stops the clock. */
  constructor() {
    const now = (): number => this.#now;
    const FakeDate = new Proxy(Date, {
      construct: (target, args) =>
        Reflect.construct(target, args.length === 0 ? [now()] : args),
      get: (target, key) => key === "now" ? now : Reflect.get(target, key),
    });
    const start = (
      call: (...args: unknown[]) => void,
      milliseconds = 0,
      ...args: unknown[]
    ): number => {
      const [id, due] = [++this.#lastId, this.#now + milliseconds];
      this.#timers.push({ id, due, fire: () => call(...args) });
      this.#timers.sort((a, b) => a.due - b.due);
      return id;
    };
    const clearTimeout = (id?: number): void => {
      this.#timers = this.#timers.filter((timer) => timer.id !== id);
    };
    const fakes = { Date: FakeDate, setTimeout: start, clearTimeout };
    Object.assign(globalThis, fakes);
  }

  /** The milliseconds since 1970 that the clock shows. */
  get now(): number {
    return this.#now;
  }

  /** Lets what is under way go on for a turn of the event loop, and then so many milliseconds pass. */
  async tickAsync(milliseconds = 0): Promise<void> {
    await new Promise((resolve) => platform.setTimeout(resolve));
    const end = this.#now + milliseconds;
    while (this.#timers[0] && this.#timers[0].due <= end) {
      const { due, fire } = this.#timers.shift()!;
      this.#now = due;
      fire();
    }
    this.#now = end;
  }

  /** Lets what is under way go on for a turn, and then time pass until a timer is due; returns whether one was. */
  async nextAsync(): Promise<boolean> {
    await this.tickAsync();
    const next = this.#timers[0];
    if (next) await this.tickAsync(next.due - this.#now);
    return next !== undefined;
  }

  /** Lets the platform's clock go on. */
  [Symbol.dispose](): void {
    Object.assign(globalThis, platform);
  }
}
