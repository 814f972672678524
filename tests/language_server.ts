/** Owns asking `deno lsp` what an editor would show. */

import { absoluteImports } from "./import_map.ts";

/** Where the cursor is in the source of {@linkcode completions}. */
export const CURSOR = "‸";

/** The names that an editor offers at each cursor of a module, which imports `@framework/core`. */
export async function completions(source: string): Promise<string[][]> {
  const folder = await Deno.makeTempDir();
  const root = new URL(`file://${folder}/`);
  const imports = await absoluteImports();
  await Deno.writeTextFile(
    new URL("deno.json", root),
    JSON.stringify({ imports }),
  );
  const server = new LanguageServer(folder);
  try {
    return await server.completions(new URL("app.ts", root).href, source);
  } finally {
    await server.end();
    await Deno.remove(folder, { recursive: true });
  }
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly items?: readonly unknown[] };
  readonly result?: { readonly items: readonly { readonly label: string }[] };
}

/** A running `deno lsp` (Language Server Protocol 3.17). */
class LanguageServer {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #waiting = new Map<number, (result: Message["result"]) => void>();
  readonly #read: Promise<void>;
  readonly #folder: string;
  #lastId = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["lsp", "-q"],
      cwd: folder,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#read = this.#readMessages();
  }

  async completions(uri: string, source: string): Promise<string[][]> {
    const rootUri = `file://${this.#folder}`;
    await this.#ask("initialize", {
      processId: null,
      rootUri,
      capabilities: { workspace: { configuration: true } },
      workspaceFolders: [{ uri: rootUri, name: "app" }],
      initializationOptions: { enable: true },
    });
    await this.#send({ method: "initialized", params: {} });
    const lines = source.split("\n");
    const text = source.replaceAll(CURSOR, "");
    const document = { uri, languageId: "typescript", version: 1, text };
    const method = "textDocument/didOpen";
    await this.#send({ method, params: { textDocument: document } });
    const found: string[][] = [];
    for (const [line, content] of lines.entries()) {
      const character = content.indexOf(CURSOR);
      if (character < 0) continue;
      const result = await this.#ask("textDocument/completion", {
        textDocument: { uri },
        position: { line, character },
      });
      found.push((result?.items ?? []).map(({ label }) => label));
    }
    return found;
  }

  async end(): Promise<void> {
    await this.#input.close();
    await this.#read;
    await this.#child.status;
  }

  #ask(method: string, params: unknown): Promise<Message["result"]> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Message["result"]>();
    this.#waiting.set(id, resolve);
    this.#send({ id, method, params });
    return promise;
  }

  async #send(message: object): Promise<void> {
    const encoder = new TextEncoder();
    const json = JSON.stringify({ jsonrpc: "2.0", ...message });
    const head = `Content-Length: ${encoder.encode(json).length}\r\n\r\n`;
    await this.#input.write(encoder.encode(head + json));
  }

  async #readMessages(): Promise<void> {
    let text = ""; // the server's messages are ASCII where they matter here
    const decoder = new TextDecoderStream("latin1");
    for await (const part of this.#child.stdout.pipeThrough(decoder)) {
      text += part;
      for (;;) {
        const head = /^Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n/.exec(text);
        const end = head === null ? Infinity : head[0].length + Number(head[1]);
        if (text.length < end) break;
        this.#take(JSON.parse(text.slice(head![0].length, end)));
        text = text.slice(end);
      }
    }
  }

  /** Takes a response, or a request of the server's for settings. */
  #take({ id, method, params, result }: Message): void {
    if (id === undefined) return;
    if (method === undefined) return this.#waiting.get(id)?.(result);
    const enabled = params?.items?.map(() => ({ enable: true })) ?? null;
    this.#send({ id, result: enabled });
  }
}
