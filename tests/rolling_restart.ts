/** Owns a rolling restart: two processes behind nginx, restarted in turn while clients send requests. */

import { documented, Nginx } from "./nginx.ts";
import { freePort } from "./ports.ts";
import { ServerProcess } from "./server_child.ts";

/** How the processes serve. */
export const WAYS = ["start", "serve", "parallel"] as const;

export type Way = typeof WAYS[number];

/** What came of it. */
export interface Outcome {
  readonly sent: number;
  readonly restarts: number;
  /** What was wrong with each response that was not right. */
  readonly failures: readonly string[];
}

const CLIENTS = 16;

/** How often a process is restarted at least. */
const RESTARTS = 4;

const SOURCE = `
  import { Framework } from "@framework/core";
  Framework.route("GET /text/@n", (n) => n);
  Framework.route("GET /slow/@n", async (n) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return n;
  });
  Framework.route("POST /form", () => Framework.request().data.n);
`;

const SOURCES: Readonly<Record<Way, string>> = {
  start: "Framework.start({ port: PORT });",
  serve: "export default Framework;",
  parallel: "export default Framework;",
};

/** How many milliseconds pass before the next process is restarted, and before one that nginx left is stopped. */
const PAUSE = 200;

/** What the clients send. */
export interface Load {
  /** How many requests at least. */
  readonly requests: number;
  /**
   * Whether forms are sent, too, which nginx never sends again. Each process is then marked as `down`, and nginx
   * reloaded, before it is stopped.
   */
  readonly hasForms: boolean;
}

/** Sends the requests, and restarts one process after the other until all have a response. */
export async function restartUnderLoad(
  way: Way,
  { requests, hasForms }: Load,
): Promise<Outcome> {
  const ports = [freePort(), freePort()];
  const addresses = ports.map((port) => `127.0.0.1:${port} max_fails=0`);
  const servers = await Promise.all(ports.map((port) => serve(way, port)));
  const nginx = await Nginx.start(await documented(addresses));
  const failures: string[] = [];
  let [sent, restarts] = [0, 0];
  let isOver = false;
  const visitAgain = async (): Promise<void> => {
    while (!isOver) {
      const failure = await visit(nginx.port, sent++, hasForms);
      if (failure !== undefined) failures.push(failure);
    }
  };
  const restart = async (at: number): Promise<void> => {
    const others = addresses.with(at, `${addresses[at]} down`);
    if (hasForms) await nginx.reload(await documented(others));
    await later(PAUSE);
    const old = servers[at]!;
    old.kill("SIGTERM");
    const { code } = await old.ended();
    if (code !== 0) failures.push(`a process ended with ${code}`);
    await old[Symbol.asyncDispose]();
    servers[at] = await serve(way, ports[at]!);
    if (hasForms) await nginx.reload(await documented(addresses));
    await later(PAUSE);
  };
  const restartInTurn = async (): Promise<void> => {
    while (sent < requests || restarts < RESTARTS) {
      await restart(restarts++ % ports.length);
    }
    isOver = true;
  };
  const clients = Array.from({ length: CLIENTS }, visitAgain);
  try {
    await Promise.all([...clients, restartInTurn()]);
  } finally {
    for (const each of [...servers, nginx]) await each[Symbol.asyncDispose]();
  }
  return { sent, restarts, failures };
}

/** Starts a process; resolves when it serves. */
async function serve(way: Way, port: number): Promise<ServerProcess> {
  const listen = ["--host=127.0.0.1", `--port=${port}`];
  const command = {
    start: ["run"],
    serve: ["serve", ...listen],
    parallel: ["serve", "--parallel", ...listen],
  };
  const server = await ServerProcess.start(
    `${SOURCE}${SOURCES[way].replace("PORT", `${port}`)}`,
    { command: command[way], env: { DENO_JOBS: "2" }, limit: 120 },
  );
  await server.prints(/Listening on/);
  return server;
}

/**
 * Sends a request: of five one is a form, if there are forms, and three are slow, so that many are under way when a
 * process stops, and the machine is not too busy to start another. Returns what is wrong with the response, if anything.
 */
async function visit(
  port: number,
  n: number,
  hasForms: boolean,
): Promise<string | undefined> {
  const isForm = hasForms && n % 5 === 0;
  const path = isForm ? "/form" : n % 5 > 1 ? `/slow/${n}` : `/text/${n}`;
  const form = { method: "POST", body: new URLSearchParams({ n: `${n}` }) };
  try {
    const url = `http://127.0.0.1:${port}${path}`;
    const response = await fetch(url, isForm ? form : {});
    const text = await response.text();
    return text === `${n}` ? undefined : `${path}: ${response.status}`;
  } catch (error) {
    return `${path}: ${error}`;
  }
}

function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
