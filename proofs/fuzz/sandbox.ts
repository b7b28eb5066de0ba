/** The sandbox of a run, in a process of its own, so that its memory is not that of the service. */

import { join } from "node:path";
import { environment } from "../../tests/support/service.ts";
import { PROJECT } from "../../tests/support/project.ts";
import { until } from "../../tests/support/until.ts";
import { WITH_MEMORY_SERVER } from "./memory.ts";
import { SERVER_KEY } from "./requests.ts";

export interface SandboxProcess extends AsyncDisposable {
  url: string;
  output(): string;
}

export interface SandboxOptions {
  /** A folder for its file. */
  folder: string;
  /** Where notifications are sent. */
  notify: string;
  /** Called with each error that it prints. */
  onError(line: string): void;
}

export async function startSandboxProcess(
  { folder, notify, onError }: SandboxOptions,
): Promise<SandboxProcess> {
  const permissions = ["--allow-net", `--allow-read=${folder}`, `--allow-write=${folder}`];
  const options = ["--port", "0", "--server-key", SERVER_KEY, "--notify", notify];
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", ...WITH_MEMORY_SERVER],
      ...["--ignore-env", "--ignore-read", ...permissions],
      ...["sandbox/main.ts", "--data", join(folder, "sandbox.sqlite"), ...options],
    ],
    env: environment({}),
    clearEnv: true,
    cwd: PROJECT,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // Ctrl-C must not reach it: this program stops it, after the service.
    detached: true,
  }).spawn();
  let output = "";
  let hasEnded = false;
  process.status.then(() => hasEnded = true);
  const findUrl = () => output.match(/^ +API +(http:\S+)\/ /m)?.[1];
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      if (findUrl() === undefined) output += text;
      else text.split("\n").filter(Boolean).forEach(onError);
    }
  };
  const ended = Promise.all([process.status, read(process.stdout), read(process.stderr)]);
  await using resources = new AsyncDisposableStack();
  resources.defer(async () => {
    if (!hasEnded) process.kill("SIGTERM");
    await ended;
  });
  await until("the sandbox listens", () => hasEnded || findUrl() !== undefined);
  if (hasEnded) throw new Error(`The sandbox ended:\n${output}`);
  const owned = resources.move();
  return {
    url: findUrl()!,
    output: () => output,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
