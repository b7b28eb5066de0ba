/** The shell that a guide's blocks are run in: variables and functions stay from block to block. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../project.ts";
import { environment, type Service } from "../service.ts";
import { inTime, until } from "../until.ts";

const PATIENCE_MS = 40_000;

export interface Shell extends AsyncDisposable {
  run(text: string, where: string): Promise<{ answered: string; refusals: string[] }>;
  /** Starts it, waits for its first words, and tells what it has said so far. */
  runBeside(text: string, where: string): Promise<() => Promise<string>>;
}

/** `curl` tells the status of every answer; `deno` runs where the project is. */
const PRELUDE = `set -euo pipefail
beside=""
trap 'for each in $beside; do kill -- "-$each" || true; done' EXIT
curl() { command curl -w '%{stderr}answered %{http_code}\\n' "$@"; }
deno() { (cd "$PROJECT" && "$DENO" "$@"); }
`;

export async function openShell(service: Service, dataDir: string): Promise<Shell> {
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
  /** Whether the shell is over, too, because the block failed. */
  async function ends(where: string): Promise<boolean> {
    try {
      return (await inTime(`${where} has run`, done.read(), PATIENCE_MS)).done;
    } catch (error) {
      // Else nobody could wait for its end.
      process.kill("SIGTERM");
      throw error;
    }
  }
  await send(PRELUDE);

  return {
    async run(text, where) {
      // Whoever reads from standard input would otherwise swallow the blocks that follow.
      await send(`{\n${text}\n} < /dev/null > ${file(".out")} 2> ${file(".err")}; echo done\n`);
      const isOver = await ends(where);
      const [answered, errors] = [await read(".out"), await read(".err")];
      assert.ok(!isOver, `${where} failed:\n${answered}\n${errors}`);
      return { answered, refusals: errors.match(/(?<=answered )[45]\d\d/g) ?? [] };
    },
    async runBeside(text, where) {
      const name = `.beside-${crypto.randomUUID()}`;
      // In a process group of its own, which can be ended with all that is in it.
      await send(
        `set -m; {\n${text}\n} < /dev/null > ${
          file(name)
        } 2>&1 & beside="$beside $!"; set +m; echo done\n`,
      );
      await ends(where);
      await until(`${where} says something`, async () => await read(name) !== "");
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
