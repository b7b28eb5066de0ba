/** Waits for a process that runs tests, and ends one that hangs. */

export interface Watched {
  success: boolean;
  /** What the process printed on both of its outputs. */
  output: string;
  /** Whether the process was ended because it printed nothing for too long, and did nothing. */
  isHung: boolean;
}

/** How long output is read after the end of a process: its own children can keep the pipes open. */
const REST_MS = 5_000;

/**
 * A silent process that uses more processor time than this in the second half of the silence is
 * slow, because the machine is busy, and does not hang: waiting for a promise costs far less.
 */
const BUSY_SHARE = 0.02;

/**
 * Waits until a process with piped outputs has ended. If it prints nothing for `silenceMs` and uses
 * hardly any processor time, it is ended; the output then ends with the name of the test that was
 * running and a list of processes.
 */
export async function watchProcess(
  process: Deno.ChildProcess,
  silenceMs: number,
  readUsedSeconds = () => readProcessorSeconds(process.pid),
): Promise<Watched> {
  const chunks: string[] = [];
  const stop = new AbortController();
  let hung = "";
  let hasEnded = false;
  let lastSignAt = performance.now();
  /** Of the process, when half of the silence had passed. */
  let usedAtHalf: number | null = null;

  async function read(stream: ReadableStream<Uint8Array>) {
    const texts = stream.pipeThrough(new TextDecoderStream(), { signal: stop.signal });
    for await (const text of texts) {
      chunks.push(text);
      noteSign();
    }
  }

  function noteSign() {
    lastSignAt = performance.now();
    usedAtHalf = null;
  }

  async function endIfSilent() {
    const silentMs = performance.now() - lastSignAt;
    if (silentMs < silenceMs / 2) return;
    usedAtHalf ??= await readUsedSeconds();
    if (silentMs < silenceMs) return;
    const used = await readUsedSeconds() - usedAtHalf;
    if (used > BUSY_SHARE * silenceMs / 2_000) return noteSign();
    const processes = await listProcesses();
    if (hasEnded) return;
    hung = `\n*** No output for ${silenceMs / 1000} s. The process was ended.\n${processes}`;
    process.kill("SIGKILL");
  }

  const reading = Promise.allSettled([read(process.stdout), read(process.stderr)]);
  // A check can take longer than the pause between two checks.
  let checking: Promise<void> | null = null;
  const watching = setInterval(() => {
    if (checking || hung !== "") return;
    checking = endIfSilent().finally(() => checking = null);
  }, Math.min(1000, silenceMs / 4));
  const { success } = await process.status;
  hasEnded = true;
  clearInterval(watching);
  await checking;
  const rest = setTimeout(() => stop.abort(), REST_MS);
  await reading;
  clearTimeout(rest);
  return { success, output: chunks.join("") + hung, isHung: hung !== "" };
}

/** The processor time that the process has used; 0 if `ps` is not installed. */
async function readProcessorSeconds(pid: number): Promise<number> {
  return Number(await runPs(["-o", "cputimes=", "-p", `${pid}`]));
}

/** Shows what the process may be waiting for, such as a service that does not stop. */
async function listProcesses(): Promise<string> {
  return await runPs(["-eo", "pid,ppid,etime,stat,wchan:20,args", "--forest"]);
}

async function runPs(args: string[]): Promise<string> {
  try {
    const { stdout } = await new Deno.Command("ps", { args, stdin: "null" }).output();
    return new TextDecoder().decode(stdout);
  } catch {
    return "";
  }
}
