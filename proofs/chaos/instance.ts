/** An instance of the service under a supervisor, which starts it again whenever it has ended. */

import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../tests/support/free_port.ts";
import { PROJECT } from "../../tests/support/project.ts";
import { environment } from "../../tests/support/service.ts";
import { shiftedCommand } from "../../tests/support/shifted_clock.ts";
import { until } from "../../tests/support/until.ts";
import { createLineReader } from "../log_lines.ts";

export interface Instance extends AsyncDisposable {
  /** It keeps its address, so that callers find it again. */
  url: string;
  /** Resolves when it can serve requests, as a load balancer would find out. */
  untilReady(): Promise<void>;
  /** Returns whether it was ready. Resolves when the process has ended. */
  kill(): Promise<boolean>;
  /**
   * Stops the process for this long, as an overloaded machine does. Returns whether it stopped it:
   * it does not while the process starts.
   */
  pause(ms: number): Promise<boolean>;
}

/** The service has ended and nothing had killed it. */
export interface OwnEnd {
  code: number;
  /** Whether it had been ready to serve requests. */
  wasReady: boolean;
  /** The latest lines of its output. */
  output: string;
}

export interface InstanceOptions {
  settings: Record<string, string>;
  /** The error of its clock. */
  shiftMs: number;
  onLine(line: string): void;
  onOwnEnd(end: OwnEnd): void;
}

/** A start includes the recovery of the database, and a change of its primary. */
const READY_TIMEOUT_MS = 180_000;

const POLL_MS = 50;
const ANSWER_TIMEOUT_MS = 5_000;

/** Without this pause, a service that cannot start would take all of the processor. */
const RESTART_PAUSE_MS = 200;

const KEPT_LINES = 50;

export async function createInstance(options: InstanceOptions): Promise<Instance> {
  const { shiftMs, onOwnEnd } = options;
  // The database fails, too.
  const shifted = await shiftedCommand([shiftMs], { hasOwnDeadline: true });
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  let process = startProcess(shifted.command, port, options);
  let isClosed = false;

  async function supervise(): Promise<void> {
    for (;;) {
      const { code, output } = await process.ended;
      const { wasReady, isKilled } = process;
      if (!isKilled) {
        onOwnEnd({ code, wasReady, output });
        await delay(RESTART_PAUSE_MS);
      }
      if (isClosed) return;
      process = startProcess(shifted.command, port, options);
    }
  }

  const supervision = supervise();
  return {
    url,
    async untilReady() {
      await until("an instance is ready", () => process.isReady(), READY_TIMEOUT_MS)
        .catch((cause) => {
          const message = `An instance did not become ready:\n${process.output()}`;
          throw new Error(message, { cause });
        });
    },
    async kill() {
      const killed = process;
      const wasReady = killed.isReady();
      killed.isKilled = true;
      killed.signal("SIGKILL");
      await killed.ended;
      return wasReady;
    },
    async pause(ms) {
      if (!process.isReady()) return false;
      const paused = process;
      paused.signal("SIGSTOP");
      await delay(ms);
      paused.signal("SIGCONT");
      return true;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      process.isKilled = true;
      process.signal("SIGKILL");
      await supervision;
      await shifted[Symbol.asyncDispose]();
    },
  };
}

/** A process of an instance. */
interface ServiceProcess {
  /** Whether it can serve requests: it has answered so, and was not killed since. */
  isReady(): boolean;
  wasReady: boolean;
  isKilled: boolean;
  /** The latest lines. */
  output(): string;
  signal(name: Deno.Signal): void;
  ended: Promise<{ code: number; output: string }>;
}

function startProcess(
  command: string[],
  port: number,
  { settings, onLine }: InstanceOptions,
): ServiceProcess {
  const child = spawn(command, settings, port);
  const lines: string[] = [];
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  const read = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) =>
    readLines(stream, (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      onLine(line);
    });

  async function untilAnswered(): Promise<void> {
    while (!hasEnded && !process.isKilled) {
      process.wasReady = await answersReady(`http://127.0.0.1:${port}`);
      if (process.wasReady) return;
      await delay(POLL_MS);
    }
  }

  async function untilEnded(): Promise<{ code: number; output: string }> {
    const [{ code }] = await Promise.all([
      child.status,
      read(child.stdout),
      read(child.stderr),
      untilAnswered(),
    ]);
    return { code, output: process.output() };
  }

  const process: ServiceProcess = {
    isReady: () => process.wasReady && !process.isKilled && !hasEnded,
    wasReady: false,
    isKilled: false,
    output: () => lines.join("\n"),
    signal: (name) => signal(child, name),
    // Not before this object exists, which it uses.
    ended: Promise.resolve().then(untilEnded),
  };
  return process;
}

function spawn(
  [program, ...args]: string[],
  settings: Record<string, string>,
  port: number,
): Deno.ChildProcess {
  return new Deno.Command(program!, {
    args,
    env: environment({ DRAIN_SECONDS: "0", ...settings, PORT: `${port}` }),
    clearEnv: true,
    cwd: PROJECT,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // Ctrl-C in the terminal must not reach it: this program ends it.
    detached: true,
  }).spawn();
}

async function readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onLine: (line: string) => void,
): Promise<void> {
  const read = createLineReader(onLine);
  for await (const text of stream.pipeThrough(new TextDecoderStream())) read(text);
}

async function answersReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health/ready/`, {
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** The process may have ended. */
function signal(process: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    process.kill(name);
  } catch (error) {
    const hasEnded = error instanceof TypeError || error instanceof Deno.errors.NotFound;
    if (!hasEnded) throw error;
  }
}
