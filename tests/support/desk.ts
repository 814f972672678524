/** Owns an application under debug, for the tests of live reload. */

import { Engine } from "@framework/core";

/** An application that serves under debug, with a folder of its own. */
export class Desk implements AsyncDisposable {
  readonly folder = Deno.makeTempDirSync();
  readonly app = new Engine();
  #isShutDown = false;
  readonly #server: Deno.HttpServer<Deno.Addr>;

  constructor(declare: (app: Engine, folder: string) => void) {
    this.app.set("framework.debug", true);
    this.app.set("framework.views.path", this.folder);
    declare(this.app, this.folder);
    this.#server = this.app.start({ port: 0, signals: false, onListen() {} });
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.addr as Deno.NetAddr).port}`;
  }

  /** Requests a path as a client on this machine. */
  visit(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.origin + path, init);
  }

  /** Writes a file of the folder, which changes at once. */
  async write(name: string, text: string): Promise<void> {
    const file = `${this.folder}/${name}`;
    await Deno.writeTextFile(`${file}~`, text);
    await Deno.rename(`${file}~`, file);
  }

  shutdown(): Promise<void> {
    this.#isShutDown = true;
    return this.#server.shutdown();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
    if (!this.#isShutDown) {
      // That these files have gone is told to nobody, and not to the pages of the next test.
      await (await this.visit("/.framework/live")).body?.cancel();
    }
    await this.shutdown();
  }
}
