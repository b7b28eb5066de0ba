/** The shell for the blocks of a guide: variables and functions persist between blocks. */

import { join } from "node:path";
import { PROJECT } from "../project.ts";
import { environment, type ServiceProcess } from "../service.ts";
import { inTime, until } from "../until.ts";

const BLOCK_TIMEOUT_MS = 90_000;

export interface Shell extends AsyncDisposable {
  /** Returns the output, and the status codes of failed requests. */
  run(text: string, where: string): Promise<{ output: string; errorStatuses: string[] }>;
  /**
   * Starts the block and waits for its first output; returns a function that reads the output so
   * far.
   */
  runInBackground(text: string, where: string): Promise<() => Promise<string>>;
}

/** `curl` prints the status of every response; `deno` runs in the project's folder. */
const PRELUDE = `set -euo pipefail
background=""
trap 'for each in $background; do kill -- "-$each" || true; done' EXIT
curl() { command curl -w '%{stderr}answered %{http_code}\\n' "$@"; }
deno() { (cd "$PROJECT" && "$DENO" "$@"); }
`;

export async function openShell(service: ServiceProcess, dataDir: string): Promise<Shell> {
  const folder = await Deno.makeTempDir({ prefix: "payment-gateway-guide-" });
  const process = new Deno.Command("bash", {
    cwd: folder,
    clearEnv: true,
    env: environment({
      DATA_DIR: dataDir,
      PORT: new URL(service.url).port,
      SANDBOX_PORT: new URL(service.sandbox).port,
      PROJECT,
      DENO: Deno.execPath(),
    }),
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const input = process.stdin.getWriter();
  const done = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const send = (text: string) => input.write(new TextEncoder().encode(text));
  const file = (name: string) => join(folder, name);
  const read = (name: string) => Deno.readTextFile(file(name)).catch(() => "");
  /** Waits for the block; returns whether the shell has ended because the block failed. */
  async function waitForBlock(where: string): Promise<boolean> {
    try {
      return (await inTime(`${where} has run`, done.read(), BLOCK_TIMEOUT_MS)).done;
    } catch (error) {
      // If the shell kept running, disposing would wait for it forever.
      process.kill("SIGTERM");
      throw error;
    }
  }
  await send(PRELUDE);

  return {
    async run(text, where) {
      // Without `/dev/null`, a program that reads standard input would consume the next blocks.
      await send(`{\n${text}\n} < /dev/null > ${file(".out")} 2> ${file(".err")}; echo done\n`);
      const hasFailed = await waitForBlock(where);
      const [output, errors] = [await read(".out"), await read(".err")];
      if (hasFailed) throw new Error(`${where} failed:\n${output}\n${errors}`);
      return { output, errorStatuses: errors.match(/(?<=answered )[45]\d\d/g) ?? [] };
    },
    async runInBackground(text, where) {
      const name = `.background-${crypto.randomUUID()}`;
      // In its own process group, so that all its processes can be stopped.
      await send(
        `set -m; {\n${text}\n} < /dev/null > ${
          file(name)
        } 2>&1 & background="$background $!"; set +m; echo done\n`,
      );
      await waitForBlock(where);
      await until(`${where} has output`, async () => await read(name) !== "");
      return () => read(name);
    },
    async [Symbol.asyncDispose]() {
      await input.close().catch(() => {});
      await done.cancel();
      await process.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
