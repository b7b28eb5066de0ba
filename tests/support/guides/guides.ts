/** Runs guides as a reader would: their blocks in order, in one shell. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { freePort } from "../free_port.ts";
import { PROJECT } from "../project.ts";
import type { ServiceProcess } from "../service.ts";
import { until } from "../until.ts";
import { type Block, blocksOf } from "./blocks.ts";
import { assertShown } from "./output.ts";
import { openShell } from "./shell.ts";

export const GUIDES = join(PROJECT, "docs");

/** The guide with the setup that all other guides assume. */
const SETUP = "README.md";

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

/**
 * Runs a guide and compares every output. A request may fail only if the guide shows its status.
 */
export async function runGuide(
  guide: string,
  service: ServiceProcess,
  dataDir: string,
): Promise<void> {
  const before = guide === SETUP ? [] : await readGuide(SETUP);
  const blocks = [...before, ...await readGuide(guide)];
  const adapt = createSubstitution(service, dataDir, [freePort(), freePort()]);
  await using shell = await openShell(service, dataDir);
  const background: (() => Promise<void>)[] = [];
  for (const [index, { guide, block }] of blocks.entries()) {
    const text = adapt(block.text);
    const where = `docs/${guide}, line ${block.line}`;
    if (block.kind === "file") await shell.run(`cat > ${block.name} <<'END'\n${text}END`, where);
    if (block.kind !== "run") continue;
    const next = blocks[index + 1]?.block;
    const shown = next?.kind === "output" ? { ...next, text: adapt(next.text) } : null;
    if (block.isBackground) {
      const output = await shell.runInBackground(text, where);
      if (shown) background.push(() => waitFor(shown, output, where));
    } else {
      const run = async () => {
        const { output, errorStatuses } = await shell.run(text, where);
        if (shown) assertShown(shown.format, shown.text, output);
        for (const status of errorStatuses) {
          const isShown = shown && showsStatus(shown.text, status);
          assert.ok(isShown, `A request failed: ${status}\n${output}`);
        }
      };
      // An event is listed soon after its cause: a reader who is too quick repeats the request.
      await withPlace(where, onlyReads(text) ? () => untilPasses("the output", run) : run);
    }
  }
  for (const waitForOutput of background) await waitForOutput();
}

/** Whether the text shows this status; an amount with the same digits does not count. */
export function showsStatus(shown: string, status: string): boolean {
  return new RegExp(`(?<![\\w.])${status}(?!\\.?\\w)`).test(shown);
}

/** Replaces the URLs, ports and folder in a guide with those of the running service. */
export function createSubstitution(
  service: ServiceProcess,
  dataDir: string,
  [receiver, sandbox]: number[],
) {
  return (text: string) =>
    text.replaceAll("http://127.0.0.1:8000", service.url)
      .replaceAll("http://127.0.0.1:8001", service.sandbox)
      .replaceAll(/\b3000\b/g, String(receiver))
      .replaceAll(/\b8002\b/g, String(sandbox))
      .replaceAll(".data/", `${dataDir}/`);
}

/** Whether the block only sends GET requests, so that it can be repeated. */
function onlyReads(text: string): boolean {
  return text.includes("curl ") && !/ -[XdFo] | --data|\bdeno\b/.test(text);
}

async function withPlace(where: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw new Error(`${where}: ${error instanceof Error ? error.message : error}`);
  }
}

/** Repeats the check until it passes; fails with its last error. */
async function untilPasses(what: string, check: () => Promise<void>): Promise<void> {
  let lastError: unknown;
  async function passes() {
    try {
      await check();
      return true;
    } catch (error) {
      if (!(error instanceof assert.AssertionError)) throw error;
      lastError = error;
      return false;
    }
  }
  await until(`${what} is as shown`, passes).catch((error) => {
    throw lastError ?? error;
  });
}

/** Waits for the output of a background block. */
async function waitFor(
  shown: { format: "json" | "text"; text: string },
  output: () => Promise<string>,
  where: string,
): Promise<void> {
  const check = async () => assertShown(shown.format, shown.text, await output());
  await withPlace(where, () => untilPasses("the output of the other terminal", check));
}
