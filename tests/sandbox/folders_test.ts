import assert from "node:assert/strict";
import { dirname, join, relative } from "node:path";
import { PROJECT } from "../support/project.ts";

/** The sandbox folders, from top to bottom. Each may import only from itself and lower layers. */
const LAYERS = [
  ["."],
  ["pages"],
  ["pages/customer", "pages/dashboard"],
  ["pages/documents"],
  ["pages/shared", "control"],
  ["api"],
  ["invoices", "snap", "subscriptions", "webhooks"],
  ["charges"],
  ["charges/methods"],
  ["accounts", "cards"],
  ["transactions"],
  ["world"],
  ["faults"],
  ["engine", "http"],
];

const SANDBOX = join(PROJECT, "sandbox");

async function* imports(folder = SANDBOX): AsyncIterable<[from: string, to: string]> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* imports(path);
    if (!name.endsWith(".ts")) continue;
    const text = await Deno.readTextFile(path);
    for (const [, target] of text.matchAll(/(?:from|import\()\s*"(\.[^"]+\.ts)"/g)) {
      yield [path, join(folder, target!)];
    }
  }
}

function folderOf(path: string): string {
  return relative(SANDBOX, dirname(path)) || ".";
}

Deno.test("sandbox folders: import only from the layers below", async () => {
  const layerOf = (path: string) => {
    const layer = LAYERS.findIndex((folders) => folders.includes(folderOf(path)));
    assert.ok(layer >= 0, `${path} is in a folder without a layer`);
    return layer;
  };
  let count = 0;
  for await (const [from, to] of imports()) {
    count++;
    if (folderOf(from) === folderOf(to)) continue;
    assert.ok(layerOf(to) > layerOf(from), `${relative(PROJECT, from)} imports ${to}`);
  }
  assert.ok(count > 100);
});
