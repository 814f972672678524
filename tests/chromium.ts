/**
 * Owns driving a headless Chromium over its DevTools protocol, as far as the browser tests need it.
 * The tests are in `browser_test.ts` and `guestbook_browser_test.ts`.
 */

import { Process } from "../tasks/process.ts";

/** The names Chromium may have; the first that is installed is used. */
const PROGRAMS = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
];

const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--remote-debugging-port=0",
];

/** The keys that do more than type a text. */
const KEYS: Readonly<Record<string, { code: number; text?: string }>> = {
  Tab: { code: 9 },
  Enter: { code: 13, text: "\r" },
};

/** Waits until the page has loaded. */
const LOADED = `new Promise((done) =>
  document.readyState === "complete" ? done() : addEventListener("load", () => done())
)`;

type Message = Record<string, unknown>;

/** A running Chromium. */
export class Chromium extends Process {
  readonly #profile: string;

  private constructor(program: string, profile: string) {
    super([program, ...FLAGS, `--user-data-dir=${profile}`, "about:blank"]);
    this.#profile = profile;
  }

  /** The name of the installed program; undefined when there is none. */
  static async find(): Promise<string | undefined> {
    for (const program of PROGRAMS) {
      try {
        await new Deno.Command(program, {
          args: ["--version"],
          stdout: "null",
          stderr: "null",
        }).output();
        return program;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    return undefined;
  }

  /** Starts an installed program. */
  static async launch(program: string): Promise<Chromium> {
    const profile = await Deno.makeTempDir({ prefix: "chromium" });
    return new Chromium(program, profile);
  }

  /** Opens a page of that size in CSS pixels. */
  async open(width: number, height: number, dark = false): Promise<Page> {
    const [, port] = await this.prints(/listening on ws:\/\/[^:]+:(\d+)/);
    const address = `http://127.0.0.1:${port}/json/new`;
    const target = await (await fetch(address, { method: "PUT" })).json();
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((resolve) => socket.onopen = resolve);
    const page = new Page(socket);
    await page.send("Page.enable");
    await page.send("Runtime.enable");
    await page.send("Log.enable");
    const mobile = width < 600;
    await page.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile,
    });
    const scheme = {
      name: "prefers-color-scheme",
      value: dark ? "dark" : "light",
    };
    await page.send("Emulation.setEmulatedMedia", { features: [scheme] });
    return page;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await Deno.remove(this.#profile, { recursive: true });
  }
}

/** One page of a browser. */
export class Page implements AsyncDisposable {
  /** The problems that the page has reported: failed loads, violations of its policy, script errors. */
  readonly complaints: string[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Map<
    number,
    { done: (result: Message) => void; failed: (reason: Error) => void }
  >();
  readonly #events = new Map<string, () => void>();
  #lastId = 0;

  /** Created by {@linkcode Chromium.open}. */
  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
  }

  /** Loads an address and waits for the page. */
  async go(url: string): Promise<void> {
    await this.#loading(() => this.send("Page.navigate", { url }));
  }

  /** Presses a key that loads another page, and waits for that page. */
  async pressAndLoad(key: string): Promise<void> {
    await this.#loading(() => this.press(key));
  }

  /** Runs a script that leads to another page, which may be one of the history, and waits for that page. */
  async follow(script: string): Promise<void> {
    const arrived = this.#event("Page.frameNavigated");
    // The page that the script leaves may never tell its outcome.
    this.read(script).catch(() => {});
    await arrived;
    await this.read(LOADED);
  }

  /** Presses and releases a key of the keyboard. */
  async press(key: string): Promise<void> {
    const { code, text } = KEYS[key] ?? { code: 0, text: key };
    const event = {
      key,
      code: key,
      windowsVirtualKeyCode: code,
      ...(text === undefined ? {} : { text }),
    };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  /** Types a text where the focus is; a line break is the Enter key. */
  async type(text: string): Promise<void> {
    for (const [index, line] of text.split("\n").entries()) {
      if (index > 0) await this.press("Enter");
      await this.send("Input.insertText", { text: line });
    }
  }

  /** Returns the value of a JavaScript expression on the page; a promise is awaited. */
  async read<Value>(expression: string): Promise<Value> {
    const options = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await this.send(
      "Runtime.evaluate",
      options,
    );
    if (exceptionDetails !== undefined) {
      throw new Error(JSON.stringify(exceptionDetails));
    }
    return (result as { value: Value }).value;
  }

  /** Writes a picture of the whole page as PNG. */
  async picture(file: string): Promise<void> {
    const { data } = await this.send("Page.captureScreenshot", {
      captureBeyondViewport: true,
    });
    await Deno.writeFile(file, Uint8Array.fromBase64(data as string));
  }

  /** Sends one command of the protocol. */
  send(method: string, params: Message = {}): Promise<Message> {
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((done, failed) =>
      this.#waiting.set(id, { done, failed })
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#socket.onclose = resolve);
    this.#socket.close();
    await closed;
  }

  async #loading(act: () => Promise<unknown>): Promise<void> {
    const loaded = this.#event("Page.loadEventFired");
    await act();
    await loaded;
  }

  /** Waits for the next event of a kind. */
  #event(method: string): Promise<void> {
    return new Promise((resolve) => this.#events.set(method, resolve));
  }

  // deno-lint-ignore no-explicit-any -- each message of the protocol has a shape of its own
  #receive({ id, result, error, method, params }: any): void {
    if (id !== undefined) {
      const { done, failed } = this.#waiting.get(id)!;
      this.#waiting.delete(id);
      return error === undefined
        ? done(result)
        : failed(new Error(error.message));
    }
    if (method === "Log.entryAdded") {
      this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    }
    if (method === "Runtime.exceptionThrown") {
      this.complaints.push(params.exceptionDetails.text);
    }
    this.#events.get(method)?.();
  }
}
