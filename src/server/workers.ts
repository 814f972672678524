/**
 * Owns how the workers of `deno serve --parallel` end together. Deno ends the process when all of them have ended,
 * but a worker that is still loading when the signal comes never hears of it, and would then serve forever. So the
 * main worker ends last, and takes those with it that are still loading.
 */

import { exit } from "./process.ts";

const CHANNEL = "@framework/core: workers of deno serve";

/** What a worker tells the others about itself. */
interface Message {
  readonly id: string;
  readonly isMain: boolean;
  readonly state: State;
  /** Whether it has just begun to serve, and asks the others for their states. */
  readonly asks: boolean;
  /** The exit status that it has set. */
  readonly status: number;
}

/** A worker that has ended has nothing left to do. */
type State = "serving" | "draining" | "ended";

/** A worker among those of its process. */
export class ParallelWorker {
  readonly #id = crypto.randomUUID();
  readonly #channel = new BroadcastChannel(CHANNEL);
  readonly #others = new Set<string>();
  #state: State = "serving";
  #isFinished = false;
  #knowsMain: boolean;

  /**
   * Call when the worker serves and listens to signals; from then on its event loop runs until the worker drains.
   * `drain` is called when another worker drains, if this one has not heard of a signal.
   */
  constructor(readonly isMain: boolean, readonly drain: () => void) {
    this.#knowsMain = isMain;
    this.#channel.onmessage = ({ data }) => this.#hear(data);
    this.#tell(this.#channel, true);
  }

  /** Call when the worker begins to drain: its event loop may end after its work, that of the main worker last. */
  async beginDrain(work: Promise<unknown>): Promise<void> {
    this.#state = "draining";
    this.#tell(this.#channel);
    await work;
    this.#isFinished = true;
    this.#endInTurn();
  }

  #hear({ id, isMain, state, asks, status }: Message): void {
    this.#knowsMain ||= isMain;
    if (state === "ended") {
      this.#others.delete(id);
      Deno.exitCode ||= status;
    } else {
      this.#others.add(id);
    }
    if (asks) this.#tell(this.#channel);
    if (state === "draining" && this.#state === "serving") this.drain();
    else this.#endInTurn();
  }

  /** Stops listening to the others once nothing depends on it: only then can the event loop end. */
  #endInTurn(): void {
    // A worker waits for the main one to come up, which would not hear of the signal either.
    const isNext = this.isMain ? this.#others.size === 0 : this.#knowsMain;
    if (!this.#isFinished || !isNext) return;
    this.#channel.close();
    addEventListener("unload", () => this.#end());
  }

  #end(): void {
    this.#state = "ended";
    if (this.isMain) exit(Deno.exitCode);
    else this.#tell(new BroadcastChannel(CHANNEL));
  }

  #tell(channel: BroadcastChannel, asks = false): void {
    const { isMain } = this;
    const { exitCode: status } = Deno;
    const message: Message = {
      id: this.#id,
      isMain,
      state: this.#state,
      asks,
      status,
    };
    channel.postMessage(message);
  }
}
