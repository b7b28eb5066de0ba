import assert from "node:assert/strict";
import { dirname, join, relative } from "node:path";
import { PROJECT } from "./support/project.ts";

/** From the top down: a file imports from its own floor and those below it. */
const FLOORS = ["main.ts", "commands", "routes", "openapi", "core", "db"];

interface SourceFile {
  path: string;
  text: string;
  imports: string[];
}

const files = await Promise.all(
  (await sourceFiles(PROJECT)).map(async (path): Promise<SourceFile> => {
    const text = await Deno.readTextFile(join(PROJECT, path));
    const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)];
    return { path, text, imports: specifiers.map(([, name]) => join(dirname(path), name!)) };
  }),
);

const house = files.filter(({ path }) => floorOf(path) !== -1);
const programs = files.filter(({ path }) => floorOf(path) !== -1 || isSandbox(path));

async function sourceFiles(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (name.startsWith(".") || name === "node_modules" || name === "dist") continue;
    const path = join(folder, name);
    if (isDirectory) found.push(...await sourceFiles(path));
    else if (/\.(ts|js|css)$/.test(name)) found.push(relative(PROJECT, path));
  }
  return found;
}

function floorOf(path: string): number {
  return FLOORS.indexOf(path.split("/")[0]!);
}

/** It stands beside the house. */
function isSandbox(path: string): boolean {
  return path.startsWith("sandbox/");
}

Deno.test("imports run downwards", () => {
  assert.ok(house.length > 20);
  for (const { path, imports } of house) {
    for (const target of imports.filter((each) => !isSandbox(each))) {
      assert.ok(floorOf(target) >= floorOf(path), `${path} imports upwards: ${target}`);
    }
  }
});

/** Of the tests, but for those of the sandbox: who asks somebody else than a service, and whom. */
const ASK_OTHERS = [
  "tests/architecture_test.ts", // Nobody: it has the word.
  "tests/commands/run_task_test.ts", // The sandbox; the service by the client.
  "tests/gateway/client_and_sandbox_test.ts", // The sandbox.
  "tests/payments/types_test.ts", // The sandbox's pages, by the links that a payment has.
  "tests/support/app.ts", // An app in the same process; it checks the answers as well.
  "tests/support/client.ts", // The service: this is the client.
  "tests/support/gateway/proxy.ts", // The gateway.
  "tests/support/gateway/relay.ts", // The gateway.
  "tests/support/gateway/sandbox.ts", // The sandbox.
];

Deno.test("tests ask a service by the one client that checks its answers", () => {
  const tests = files.filter(({ path }) => path.startsWith("tests/"));
  assert.ok(tests.some(({ text }) => text.includes("askService(")));
  // However it is called, or handed on; a method of that name is somebody else's.
  const asking = tests.filter(({ text }) => /(?<![.`\w])fetch\b|globalThis\.fetch\b/.test(text));
  const others = asking.filter(({ path }) => !/^tests\/sandbox\/\w+_test\.ts$/.test(path));
  assert.deepEqual(others.map(({ path }) => path).sort(), ASK_OTHERS);
  const asksItself = /\bfetch\(\s*(`\$\{)?(service|server|hanging)!?\.url\b/;
  for (const { path, text } of asking) assert.doesNotMatch(text, asksItself, path);
});

Deno.test("the sandbox is a program of its own: it knows nobody, and only commands know it", () => {
  assert.ok(files.filter(({ path }) => isSandbox(path)).length > 20);
  for (const { path, imports } of files) {
    const mayKnowIt = /^(commands|tests|bench|main\.ts)/.test(path);
    for (const target of imports) {
      if (isSandbox(path)) assert.ok(isSandbox(target), `${path} imports ${target}`);
      else assert.ok(mayKnowIt || !isSandbox(target), `${path} imports ${target}`);
    }
  }
});

Deno.test("imports go in no circles", () => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  function visit(path: string, trail: string[]) {
    assert.ok(!trail.includes(path), `a circle: ${[...trail, path].join(" → ")}`);
    if (done.has(path)) return;
    for (const target of byPath.get(path)?.imports ?? []) visit(target, [...trail, path]);
    done.add(path);
  }
  for (const { path } of files) visit(path, []);
});

Deno.test("every import is of a file that is there", async () => {
  for (const { path, imports } of files) {
    for (const target of imports) {
      const { isFile } = await Deno.stat(join(PROJECT, target));
      assert.ok(isFile, `${path} imports ${target}`);
    }
  }
});

Deno.test("only main.ts reads the environment", () => {
  for (const { path, text } of programs) {
    if (path === "main.ts") continue;
    assert.doesNotMatch(text, /Deno\.env|process\.env|node:process/, path);
  }
});

Deno.test("a gate alone changes the state of a payment, an invoice, a subscription", () => {
  const makers = house.filter(({ text }) => /\btransition: \{/.test(text));
  assert.deepEqual(makers.map(({ path }) => path).sort(), [
    "core/invoices/gate.ts",
    "core/payments/gate.ts",
    "core/subscriptions/gate.ts",
  ]);
  const writes = /(update|insert into) gateway\.(payments|invoices|subscriptions|\$\{table\})\s/;
  const writers = house.filter(({ text }) => writes.test(text));
  assert.deepEqual(writers.map(({ path }) => path).sort(), [
    "db/adopt_payment.ts",
    "db/side_effects.ts",
    "db/insert_record.ts",
    "db/record_checks.ts",
    "db/write_record.ts",
  ]);
});

Deno.test("embedded parts are imported only when they are used", () => {
  for (const { path, text } of house) {
    if (path.startsWith("db/embedded/")) continue;
    const statics = text.match(/^import (?!type )[^;]*(db\/embedded|sandbox)\/[^;]*;/gm) ?? [];
    assert.deepEqual(statics, [], path);
  }
});

Deno.test("every file says in a sentence what it is for", () => {
  for (const { path, text } of programs) assert.match(text, /^\/\*\*/, path);
});
