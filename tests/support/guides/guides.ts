/** Runs guides as a reader would: their blocks in order, in one shell. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../project.ts";
import type { Service } from "../service.ts";
import { until } from "../until.ts";
import { type Block, blocksOf } from "./blocks.ts";
import { assertShown } from "./output.ts";
import { openShell } from "./shell.ts";

export const GUIDES = join(PROJECT, "docs");

/** Every guide assumes the setup of this one. */
const FIRST = "README.md";

export interface GuideBlock {
  guide: string;
  block: Block;
}

export async function guideNames(): Promise<string[]> {
  const names = [];
  for await (const { name } of Deno.readDir(GUIDES)) if (name.endsWith(".md")) names.push(name);
  return names.sort();
}

export async function readGuide(guide: string): Promise<GuideBlock[]> {
  const blocks = blocksOf(await Deno.readTextFile(join(GUIDES, guide)));
  return blocks.map((block) => ({ guide, block }));
}

/** Runs a guide and compares every output it shows. An error status must be shown by the guide. */
export async function runGuide(guide: string, service: Service, dataDir: string): Promise<void> {
  const before = guide === FIRST ? [] : await readGuide(FIRST);
  const blocks = [...before, ...await readGuide(guide)];
  const inPlace = substitute(service, dataDir, [freePort(), freePort()]);
  await using shell = await openShell(service, dataDir);
  const background: (() => Promise<void>)[] = [];
  for (const [index, { guide, block }] of blocks.entries()) {
    const text = inPlace(block.text);
    const where = `docs/${guide}, line ${block.line}`;
    if (block.kind === "file") await shell.run(`cat > ${block.name} <<'END'\n${text}END`, where);
    if (block.kind !== "run") continue;
    const next = blocks[index + 1]?.block;
    const shown = next?.kind === "output" ? { ...next, text: inPlace(next.text) } : null;
    if (block.isBackground) {
      const output = await shell.runInBackground(text, where);
      if (shown) background.push(() => waitFor(shown, output, where));
    } else {
      const { answered, refusals } = await shell.run(text, where);
      explained(where, () => {
        if (shown) assertShown(shown.format, shown.text, answered);
        for (const status of refusals) {
          const isAnnounced = shown && announces(shown.text, status);
          assert.ok(isAnnounced, `A request failed: ${status}\n${answered}`);
        }
      });
    }
  }
  for (const isShown of background) await isShown();
}

/** Whether the text shows this status, and not only an amount with the same digits. */
export function announces(shown: string, status: string): boolean {
  return new RegExp(`(?<![\\w.])${status}(?!\\.?\\w)`).test(shown);
}

/** Replaces the URLs and the folder in a guide with those of the running service. */
function substitute(service: Service, dataDir: string, [receiver, sandbox]: number[]) {
  return (text: string) =>
    text.replaceAll("http://127.0.0.1:8000", service.url)
      .replaceAll("http://127.0.0.1:8001", service.sandbox)
      .replaceAll(/\b3000\b/g, String(receiver))
      .replaceAll(/\b8002\b/g, String(sandbox))
      .replaceAll(".data/", `${dataDir}/`);
}

function explained(where: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new Error(`${where}: ${error instanceof Error ? error.message : error}`);
  }
}

/** Waits for the output of a background block. */
async function waitFor(
  shown: { format: "json" | "text"; text: string },
  output: () => Promise<string>,
  where: string,
): Promise<void> {
  let said = "";
  const isShown = async () => {
    said = await output();
    try {
      assertShown(shown.format, shown.text, said);
      return true;
    } catch {
      return false;
    }
  };
  await until("the other terminal shows it", isShown)
    .catch(() => explained(where, () => assertShown(shown.format, shown.text, said)));
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
