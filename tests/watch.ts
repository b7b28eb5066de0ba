/** Waits for a process that runs tests, and ends one that hangs. */

export interface Watched {
  success: boolean;
  /** What the process printed on both of its outputs. */
  output: string;
  /** Whether the process was ended because it printed nothing for too long. */
  isHung: boolean;
}

/** How long output is read after the end of a process: its own children can keep the pipes open. */
const REST_MS = 5_000;

/**
 * Waits until a process with piped outputs has ended. If it prints nothing for `silenceMs`, it is
 * ended; the output then ends with the name of the test that was running and a list of processes.
 */
export async function watchProcess(
  process: Deno.ChildProcess,
  silenceMs: number,
): Promise<Watched> {
  const chunks: string[] = [];
  const stop = new AbortController();
  let hung = "";
  let lastOutputAt = performance.now();

  async function read(stream: ReadableStream<Uint8Array>) {
    const texts = stream.pipeThrough(new TextDecoderStream(), { signal: stop.signal });
    for await (const text of texts) {
      chunks.push(text);
      lastOutputAt = performance.now();
    }
  }

  async function endIfSilent() {
    if (performance.now() - lastOutputAt < silenceMs || hung !== "") return;
    hung = `\n*** No output for ${silenceMs / 1000} s. The process was ended.\n`;
    hung += await listProcesses();
    process.kill("SIGKILL");
  }

  const reading = Promise.allSettled([read(process.stdout), read(process.stderr)]);
  const watching = setInterval(endIfSilent, Math.min(1000, silenceMs));
  const { success } = await process.status;
  clearInterval(watching);
  const rest = setTimeout(() => stop.abort(), REST_MS);
  await reading;
  clearTimeout(rest);
  return { success, output: chunks.join("") + hung, isHung: hung !== "" };
}

/** Shows what the process may be waiting for, such as a service that does not stop. */
async function listProcesses(): Promise<string> {
  try {
    const command = new Deno.Command("ps", {
      args: ["-eo", "pid,ppid,etime,stat,wchan:20,args", "--forest"],
      stdin: "null",
    });
    return new TextDecoder().decode((await command.output()).stdout);
  } catch {
    return "";
  }
}
