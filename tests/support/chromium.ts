/**
 * Owns driving a headless Chromium over its DevTools protocol, as far as the browser tests need it.
 * `browser.ts` starts it for them.
 */

import { Process } from "../../tasks/process.ts";

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
  // Each context would load the lists that drop from an address bar, which takes longer than most tests.
  "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
  "--remote-debugging-port=0",
];

/** The file of the profile that names where Chromium takes commands. */
const ADDRESS_FILE = "DevToolsActivePort";

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
  #hasEnded = false;

  private constructor(program: string, profile: string) {
    // What it logs goes to a file, since the sanitizer of a test reports what is read or closed beside it. It keeps
    // the pipe of its output open.
    const script = `exec "$0" "$@" 3>&2 2>"${profile}/log"`;
    const flags = [...FLAGS, `--user-data-dir=${profile}`, "about:blank"];
    super(["sh", "-c", script, program, ...flags], { limit: 600 });
    this.#profile = profile;
    this.ended().then(() => this.#hasEnded = true);
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

  /** Creates a context, whose pages share nothing with those of others. */
  async createContext(): Promise<BrowserContext> {
    const { host, path } = await this.#address();
    const connection = await Connection.open(`ws://${host}${path}`);
    const { browserContextId } = await connection.send(
      "Target.createBrowserContext",
    );
    return new BrowserContext(host, connection, browserContextId as string);
  }

  /** Where it takes commands, once it does. */
  async #address(): Promise<{ host: string; path: string }> {
    for (;;) {
      const text = await Deno.readTextFile(`${this.#profile}/${ADDRESS_FILE}`)
        .catch(() => "");
      const [, port, path] = /^(\d+)\n(\/\S+)$/.exec(text) ?? [];
      if (path !== undefined) return { host: `127.0.0.1:${port}`, path };
      if (this.#hasEnded) {
        const log = await Deno.readTextFile(`${this.#profile}/log`);
        throw new Error(`Chromium has ended: ${log}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await Deno.remove(this.#profile, { recursive: true });
  }
}

/** Pages with cookies, storage and a cache of their own, as those of a private window. */
export class BrowserContext implements AsyncDisposable {
  readonly #host: string;
  readonly #connection: Connection;
  readonly #id: string;

  /** Created by {@linkcode Chromium.createContext}. */
  constructor(host: string, connection: Connection, id: string) {
    this.#host = host;
    this.#connection = connection;
    this.#id = id;
  }

  /** Opens a page of that size in CSS pixels. */
  async open(width: number, height: number): Promise<Page> {
    const { targetId } = await this.#connection.send("Target.createTarget", {
      url: "about:blank",
      browserContextId: this.#id,
    });
    const page = await Page.attach(
      `ws://${this.#host}/devtools/page/${targetId}`,
      () => this.#connection.send("Target.closeTarget", { targetId }),
    );
    await page.send("Page.enable");
    await page.send("Runtime.enable");
    await page.send("Log.enable");
    await page.resize(width, height);
    return page;
  }

  /** Closes its pages. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.send("Target.disposeBrowserContext", {
      browserContextId: this.#id,
    });
    await this.#connection[Symbol.asyncDispose]();
  }
}

/** A connection to the browser itself or to a page of it. */
class Connection implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<
    number,
    { done: (result: Message) => void; failed: (reason: Error) => void }
  >();
  #lastId = 0;
  readonly #closed: Promise<void>;

  protected constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    this.#closed = new Promise((resolve) =>
      socket.onclose = () => {
        resolve();
        this.#failWaiting();
      }
    );
  }

  static async open(address: string): Promise<Connection> {
    return new Connection(await Connection.connect(address));
  }

  protected static async connect(address: string): Promise<WebSocket> {
    const socket = new WebSocket(address);
    await new Promise((resolve) => socket.onopen = resolve);
    return socket;
  }

  /** Sends one command of the protocol. */
  send(method: string, params: Message = {}): Promise<Message> {
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((done, failed) =>
      this.#waiting.set(id, { done, failed })
    );
  }

  /** Called with each event. */
  // deno-lint-ignore no-explicit-any -- each event of the protocol has a shape of its own
  protected handleEvent(_method: string, _params: any): void {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.#closed;
  }

  /** Without it, a test would wait for a browser that has gone. */
  #failWaiting(): void {
    for (const { failed } of this.#waiting.values()) {
      failed(new Error("The connection to Chromium has closed"));
    }
    this.#waiting.clear();
  }

  // deno-lint-ignore no-explicit-any -- each message of the protocol has a shape of its own
  #receive({ id, result, error, method, params }: any): void {
    if (id === undefined) return this.handleEvent(method, params);
    const { done, failed } = this.#waiting.get(id)!;
    this.#waiting.delete(id);
    if (error === undefined) done(result);
    else failed(new Error(error.message));
  }
}

/** One page of a browser. */
export class Page extends Connection {
  /** The problems that the page has reported: failed loads, violations of its policy, script errors. */
  readonly complaints: string[] = [];
  readonly #events = new Map<string, () => void>();

  readonly #close: () => Promise<unknown>;

  private constructor(socket: WebSocket, close: () => Promise<unknown>) {
    super(socket);
    this.#close = close;
  }

  /** Connects to a page that the browser has opened, and that the function has it close. */
  static async attach(
    address: string,
    close: () => Promise<unknown>,
  ): Promise<Page> {
    return new Page(await Connection.connect(address), close);
  }

  /** Gives it a size in CSS pixels; below 600 it is that of a phone. */
  async resize(width: number, height: number): Promise<void> {
    const mobile = width < 600;
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile,
    });
  }

  /** Asks for light or dark colours, as the system of a visitor does. */
  async prefer(scheme: "light" | "dark"): Promise<void> {
    const feature = { name: "prefers-color-scheme", value: scheme };
    await this.send("Emulation.setEmulatedMedia", { features: [feature] });
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

  /** Closes the page itself too: it would go on, and reload when a test removes the files of its server. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    await super[Symbol.asyncDispose]();
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

  // deno-lint-ignore no-explicit-any -- each event of the protocol has a shape of its own
  protected override handleEvent(method: string, params: any): void {
    if (method === "Log.entryAdded") {
      this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    }
    if (method === "Runtime.exceptionThrown") {
      this.complaints.push(params.exceptionDetails.text);
    }
    this.#events.get(method)?.();
  }
}
