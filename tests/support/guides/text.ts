/** Finds and runs single blocks of guides. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../project.ts";
import { environment, type Outcome } from "../service.ts";

export async function readGuide(name: string): Promise<string> {
  return await Deno.readTextFile(join(PROJECT, "docs", name));
}

/** The only block in this language that contains `words`. */
export function blockWith(guide: string, language: string, words: string): string {
  const blocks = [...guide.matchAll(/^```(\w+)[^\n]*\n(.*?)^```$/gms)]
    .filter(([, itsLanguage, text]) => itsLanguage === language && text!.includes(words));
  assert.equal(blocks.length, 1, `exactly one ${language} block with ${words}`);
  return blocks[0]![2]!;
}

/** Runs a block with these variables; it must succeed. */
export async function runBlock(
  block: string,
  variables: Record<string, string>,
  cwd = PROJECT,
): Promise<Outcome> {
  const path = `${join(Deno.execPath(), "..")}:${Deno.env.get("PATH")}`;
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", `set -euo pipefail\n${block}`],
    env: environment({ PATH: path, ...variables }),
    clearEnv: true,
    cwd,
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, `${block}\n${out}\n${err}`);
  return { code, stdout: out!, stderr: err! };
}
