/**
 * Owns driving a headless Chromium over its DevTools protocol, as far as the browser tests need it. One starts before
 * the tests of the importing file and stops after them; where none is installed, they are skipped.
 */

import { Process } from "../../tasks/process.ts";
import { findProgram } from "./system_program.ts";

const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-dev-shm-usage",
  "--no-first-run",
  // Each page would load the lists that drop from an address bar, which takes longer than most tests.
  "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
  "--remote-debugging-port=0",
];

/** The keys that do more than type a text. */
const KEYS: Readonly<Record<string, { code: number; text?: string }>> = {
  Tab: { code: 9 },
  Enter: { code: 13, text: "\r" },
};

const program = await findProgram("chromium", "google-chrome");
if (program === undefined) {
  console.warn("The browser tests are skipped: no Chromium is installed");
}

let running: Chromium | undefined;

Deno.test.beforeAll(async () => {
  if (program !== undefined) running = await Chromium.launch(program);
});

Deno.test.afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

/** Declares a test with a page of that width in CSS pixels. */
export function browserTest(
  name: string,
  width: number,
  test: (page: Page) => Promise<void>,
): void {
  Deno.test({ name, ignore: program === undefined }, async () => {
    await using page = await running!.open(width);
    await test(page);
  });
}

/** A running Chromium. */
class Chromium extends Process {
  readonly #profile: string;

  private constructor(program: string, profile: string) {
    // What it logs goes to a file, since the sanitizer of a test reports what is read or closed beside it. It keeps
    // the pipe of its output open.
    const script = `exec "$0" "$@" 3>&2 2>"${profile}/log"`;
    const flags = [...FLAGS, `--user-data-dir=${profile}`, "about:blank"];
    super(["sh", "-c", script, program, ...flags], { limit: 600 });
    this.#profile = profile;
  }

  static async launch(program: string): Promise<Chromium> {
    const profile = await Deno.makeTempDir({ prefix: "chromium" });
    return new Chromium(program, profile);
  }

  async open(width: number): Promise<Page> {
    const origin = `http://127.0.0.1:${await this.#port()}`;
    const init = { method: "PUT" };
    const { id, webSocketDebuggerUrl } =
      await (await fetch(`${origin}/json/new?about:blank`, init)).json();
    // It would go on, and reload when a test removes the files of its server.
    const close = async () => {
      await (await fetch(`${origin}/json/close/${id}`)).body?.cancel();
    };
    const page = await Page.attach(webSocketDebuggerUrl, close);
    for (const domain of ["Page", "Runtime", "Log"]) {
      await page.send(`${domain}.enable`);
    }
    await page.resize(width);
    return page;
  }

  /** Where it takes commands, once it does. */
  async #port(): Promise<string> {
    for (let tries = 0; tries < 3_000; tries++) {
      const file = `${this.#profile}/DevToolsActivePort`;
      const text = await Deno.readTextFile(file).catch(() => "");
      const [, port] = /^(\d+)\n\/\S+$/.exec(text) ?? [];
      if (port !== undefined) return port;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const log = await Deno.readTextFile(`${this.#profile}/log`);
    throw new Error(`Chromium takes no commands: ${log}`);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await Deno.remove(this.#profile, { recursive: true });
  }
}

/** A page, by its connection. */
export class Page implements AsyncDisposable {
  /** The problems that the page has reported: failed loads, violations of its policy, script errors. */
  readonly complaints: string[] = [];
  readonly #socket: WebSocket;
  readonly #close: () => Promise<unknown>;
  /** What is called with the next message that has an id, or that is of a kind. */
  // deno-lint-ignore no-explicit-any -- each message of the protocol has a shape of its own
  readonly #waiting = new Map<number | string, (message: any) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket, close: () => Promise<unknown>) {
    this.#socket = socket;
    this.#close = close;
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = () => this.#failWaiting();
  }

  static async attach(
    address: string,
    close: () => Promise<unknown>,
  ): Promise<Page> {
    const socket = new WebSocket(address);
    await new Promise((resolve) => socket.onopen = resolve);
    return new Page(socket, close);
  }

  /** Sends one command of the protocol, and returns its result. */
  // deno-lint-ignore no-explicit-any -- each result has a shape of its own
  async send(method: string, params: object = {}): Promise<any> {
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await this.#message(id);
    if (error !== undefined) throw new Error(error.message);
    return result;
  }

  /** Gives it a width in CSS pixels; below 600 it is that of a phone. */
  async resize(width: number): Promise<void> {
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height: 800,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
  }

  /** Asks for light or dark colours, as the system of a visitor does. */
  async prefer(scheme: "light" | "dark"): Promise<void> {
    const feature = { name: "prefers-color-scheme", value: scheme };
    await this.send("Emulation.setEmulatedMedia", { features: [feature] });
  }

  /** Loads an address and waits for the page. */
  async go(url: string): Promise<void> {
    const loaded = this.#message("Page.loadEventFired");
    await this.send("Page.navigate", { url });
    await loaded;
  }

  /** Presses a key that loads another page, and waits for that page. */
  async pressAndLoad(key: string): Promise<void> {
    const loaded = this.#message("Page.loadEventFired");
    await this.press(key);
    await loaded;
  }

  /** Presses and releases a key of the keyboard. */
  async press(key: string): Promise<void> {
    const { code, ...text } = KEYS[key]!;
    const event = { key, code: key, windowsVirtualKeyCode: code, ...text };
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
    if (exceptionDetails === undefined) return result.value;
    throw new Error(JSON.stringify(exceptionDetails));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#socket.onclose = resolve);
    await this.#close();
    await closed;
  }

  // deno-lint-ignore no-explicit-any -- each message of the protocol has a shape of its own
  #message(key: number | string): Promise<any> {
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }

  // deno-lint-ignore no-explicit-any -- each message of the protocol has a shape of its own
  #receive(message: any): void {
    const { id, method, params } = message;
    if (method === "Log.entryAdded") {
      this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    }
    if (method === "Runtime.exceptionThrown") {
      this.complaints.push(params.exceptionDetails.text);
    }
    this.#waiting.get(id ?? method)?.(message);
    this.#waiting.delete(id ?? method);
  }

  /** Without it, a test would wait for a browser that has gone. */
  #failWaiting(): void {
    const error = { message: "The connection to Chromium has closed" };
    for (const fail of this.#waiting.values()) fail({ error });
  }
}
