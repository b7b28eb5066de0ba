import assert from "node:assert/strict";
import { dirname, join, relative } from "node:path";
import { FULL_ONLY, MORE_OLDEST, MORE_POOLED, OLDEST, POOLED, SECONDS } from "./select.ts";
import { PROJECT } from "./support/project.ts";

/**
 * The layers, from top to bottom. A file imports only from its own top folder and from lower
 * layers: so the console, the payment page and the routes of the API share only
 * `http/` and what is below it.
 */
const LAYERS = [
  ["main.ts"],
  ["commands"],
  ["app.ts"],
  ["console", "pay", "routes"],
  ["http"],
  ["pages"],
  ["openapi"],
  ["core"],
  ["db"],
  ["concurrency"],
  // Imported as text.
  ["docs"],
];

/**
 * The layers inside `core/`, from top to bottom. A file imports only from its own folder and from
 * lower layers.
 */
const CORE_LAYERS = [
  ["doctor"],
  ["audit", "status"],
  ["tasks"],
  ["attention", "mail"],
  ["reports"],
  ["handlers"],
  ["notifications", "webhooks"],
  ["checkouts", "invoices", "subscriptions"],
  ["payments"],
  ["events", "jobs"],
  ["records"],
  ["idempotency"],
  ["auth"],
  ["service.ts"],
  ["gateway", "posting"],
  ["config", "time", "fields", "lists"],
  ["telemetry"],
  ["secrets"],
  ["errors.ts", "ids.ts", "money.ts"],
];

/**
 * The layers inside `console/`, from top to bottom. A file imports only from its own folder and
 * from lower layers.
 */
const CONSOLE_LAYERS = [
  ["console.tsx"],
  ["customers"],
  ["overview", "checkouts", "invoices", "subscriptions", "reports", "operations", "access"],
  ["payments"],
  ["shared"],
  ["words"],
];

/**
 * The layers inside `db/`, from top to bottom. A file imports only from its own folder and from
 * lower layers.
 */
const DB_LAYERS = [
  ["reports", "migrations", "embedded"],
  ["webhooks", "billing"],
  ["writing"],
  ["payments", "events"],
  ["jobs", "access"],
  ["records"],
  ["connection"],
];

/** The top folders of the service and the sandbox. */
const PROGRAMS = [...LAYERS.flat(), "sandbox"];

const MAX_LINES = 700;
const MAX_FUNCTION_LINES = 70;
const MAX_COLUMNS = 100;

const COMMENT = /^\s*(\/\/|\/?\*)/;

interface SourceFile {
  path: string;
  text: string;
  imports: Import[];
}

interface Import {
  target: string;
  /** Whether the import has only types, which do not exist at run time. */
  isType: boolean;
  /** `import()`: loaded when it runs, and not at the start. */
  isOnDemand: boolean;
}

const files = await Promise.all(
  (await findFiles(PROJECT, /\.(tsx?|js|css)$/)).map(async (path): Promise<SourceFile> => {
    const text = await Deno.readTextFile(join(PROJECT, path));
    return { path, text, imports: readImports(path, text) };
  }),
);

const service = files.filter(({ path }) => layerOf(path) !== -1);
const programs = files.filter(({ path }) => PROGRAMS.includes(topFolderOf(path)));

async function findFiles(folder: string, pattern: RegExp): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if ([".data", ".git", "node_modules", "dist"].includes(name)) continue;
    const path = join(folder, name);
    if (isDirectory) found.push(...await findFiles(path, pattern));
    else if (pattern.test(name)) found.push(relative(PROJECT, path));
  }
  return found.sort();
}

function readImports(path: string, text: string): Import[] {
  const statements = text.matchAll(
    /(?:^(?:import|export)\s([^;"]*?)from\s*|\bimport\s*\(?\s*)"(\.[^"]+)"/gm,
  );
  return [...statements].map(([statement, names = "", specifier]) => ({
    target: join(dirname(path), specifier!),
    isOnDemand: /^import\s*\(/.test(statement),
    isType: /^type\s/.test(names) ||
      /^\{.*\}\s*$/s.test(names) &&
        names.slice(1, names.lastIndexOf("}")).split(",").map((name) => name.trim())
          .filter(Boolean).every((name) => name.startsWith("type ")),
  }));
}

function topFolderOf(path: string): string {
  return path.split("/")[0]!;
}

function layerOf(path: string): number {
  return LAYERS.findIndex((entries) => entries.includes(topFolderOf(path)));
}

function isSandbox(path: string): boolean {
  return topFolderOf(path) === "sandbox";
}

/** All folders that a file is in, such as `core` and `core/payments`. */
function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Fails with all findings at once. */
function assertNone(findings: string[], rule: string): void {
  assert.equal(findings.length, 0, `${rule}\n  ${findings.join("\n  ")}`);
}

Deno.test("architecture: top folders import only from lower layers", () => {
  assert.ok(service.length > 20);
  const findings = service.flatMap(({ path, imports }) =>
    imports.filter(({ target }) =>
      !isSandbox(target) && topFolderOf(target) !== topFolderOf(path) &&
      layerOf(target) <= layerOf(path)
    ).map(({ target }) => `${path} imports ${target}`)
  );
  const order = LAYERS.map((entries) => entries.join(" ")).join(" · ");
  assertNone(findings, `A file may import only from its own folder and lower layers: ${order}`);
});

/** Test files, other than those of the sandbox, that call `fetch` themselves, and why. */
const CALL_FETCH = [
  "tests/architecture_test.ts", // Only mentions `fetch`.
  "tests/commands/run_task_test.ts", // Calls the sandbox.
  "tests/db/upgrade_test.ts", // Calls an older release, whose responses have fewer members.
  "tests/docs/shop_test.ts", // Calls the shop, the sandbox, and the pages for customers.
  "tests/gateway/client_and_sandbox_test.ts", // Calls the sandbox.
  "tests/mail/service_test.ts", // Calls the sandbox.
  "tests/payments/types_test.ts", // Opens the sandbox's pages by the links of a payment.
  "tests/support/app.ts", // Calls an app in the same process, and checks the responses.
  "tests/support/client.ts", // Is the client that checks the responses.
  "tests/support/clients/every_operation.ts", // Calls the sandbox.
  "tests/support/database/pair.ts", // Calls Patroni and etcd.
  "tests/support/doctor/late_gateway.ts", // Calls the sandbox.
  "tests/support/gateway/proxy.ts", // Calls the gateway.
  "tests/support/gateway/relay.ts", // Calls the gateway.
  "tests/support/gateway/sandbox.ts", // Calls the sandbox.
  "tests/support/sdk_browser.ts", // Forwards requests of a browser to the service.
  "tests/support/steady_load.ts", // Calls the service through nginx, which adds headers.
];

Deno.test("architecture: tests call the service only through the client that checks its responses", () => {
  const tests = files.filter(({ path }) => path.startsWith("tests/"));
  assert.ok(tests.some(({ text }) => text.includes("callService(")));
  // Matches calls of `fetch` and `fetch` passed as a value, but not methods named `fetch`.
  const callingFiles = tests.filter(({ text }) =>
    /(?<![.`\w])fetch\b|globalThis\.fetch\b/.test(text)
  );
  const otherFiles = callingFiles.filter(({ path }) =>
    !/^tests\/sandbox\/\w+_test\.ts$/.test(path)
  );
  assert.deepEqual(otherFiles.map(({ path }) => path).sort(), CALL_FETCH);
  const callsService = /\bfetch\(\s*(`\$\{)?(service|server|hanging)!?\.url\b/;
  for (const { path, text } of callingFiles) assert.doesNotMatch(text, callsService, path);
});

Deno.test("architecture: the sandbox imports only its own files, and only commands, tests, benchmarks and proofs import it", () => {
  assert.ok(files.filter(({ path }) => isSandbox(path)).length > 20);
  const findings = files.flatMap(({ path, imports }) =>
    imports.filter(({ target }) =>
      isSandbox(path)
        ? !isSandbox(target)
        : isSandbox(target) && !/^(commands|tests|bench|proofs)/.test(path)
    ).map(({ target }) => `${path} imports ${target}`)
  );
  assertNone(findings, "The sandbox is a separate program:");
});

Deno.test("architecture: the start of the service loads neither the console nor the payment page", () => {
  const loaded = new Set(["commands/serve.ts"]);
  for (const path of loaded) {
    for (const { target, isType, isOnDemand } of importsOf(path)) {
      if (!isType && !isOnDemand) loaded.add(target);
    }
  }
  assert.ok(loaded.has("app.ts") && loaded.has("routes/payments/charge.ts"));
  const pages = [...loaded].filter((path) => ["console", "pay"].includes(topFolderOf(path)));
  assertNone(pages, "Import them on demand, in app.ts:");
});

function importsOf(path: string): Import[] {
  return files.find((file) => file.path === path)?.imports ?? [];
}

Deno.test("architecture: no import cycles between files", () => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  function visit(path: string, trail: string[]) {
    assert.ok(!trail.includes(path), `Import cycle: ${[...trail, path].join(" → ")}`);
    if (done.has(path)) return;
    for (const { target } of byPath.get(path)?.imports ?? []) visit(target, [...trail, path]);
    done.add(path);
  }
  for (const { path } of files) visit(path, []);
});

Deno.test("architecture: every imported file exists", async () => {
  for (const { path, imports } of files) {
    for (const { target } of imports) {
      const found = await Deno.stat(join(PROJECT, target)).catch(() => null);
      assert.ok(found?.isFile, `${path} imports ${target}, which does not exist`);
    }
  }
});

Deno.test("architecture: only main.ts reads the environment", () => {
  for (const { path, text } of programs) {
    if (path === "main.ts") continue;
    assert.doesNotMatch(text, /Deno\.env|process\.env|node:process/, path);
  }
});

Deno.test("architecture: one file per kind of record decides its transitions, and only listed files write the tables of records", () => {
  const decidingFiles = service.filter(({ text }) => /\btransition: \{/.test(text));
  assert.deepEqual(decidingFiles.map(({ path }) => path).sort(), [
    "core/checkouts/settle.ts",
    "core/invoices/apply_report.ts",
    "core/payments/apply_report.ts",
    "core/subscriptions/apply_report.ts",
  ]);
  const writes =
    /(update|insert into) gateway\.(payments|invoices|subscriptions|checkouts|\$\{table\})\s/;
  const writingFiles = service.filter(({ text }) => writes.test(text));
  assert.deepEqual(writingFiles.map(({ path }) => path).sort(), [
    "db/billing/checkouts.ts",
    "db/billing/subscriptions.ts",
    "db/records/records.ts",
    "db/writing/payment_writes.ts",
    "db/writing/record_writes.ts",
    "db/writing/side_effects.ts",
  ]);
});

Deno.test("architecture: the embedded database and the sandbox are loaded only when they are used", () => {
  for (const { path, text } of service) {
    if (path.startsWith("db/embedded/")) continue;
    const staticImports = text.match(/^import (?!type )[^;]*(db\/embedded|sandbox)\/[^;]*;/gm) ??
      [];
    assert.deepEqual(staticImports, [], path);
  }
});

Deno.test("architecture: every file of the programs opens with a comment that says what it is for", () => {
  const findings = programs.filter(({ text }) => !text.startsWith("/**"));
  assertNone(findings.map(({ path }) => path), "These files do not open with `/** … */`:");
});

Deno.test("architecture: every file in the lists of tests exists", () => {
  const tests = files.map(({ path }) => path);
  const lists = [Object.keys(SECONDS), FULL_ONLY, POOLED, MORE_POOLED, OLDEST, MORE_OLDEST];
  const missing = lists.flat().filter((path) => !tests.includes(path));
  assertNone(missing, "tests/select.ts lists test files that do not exist:");
});

/** The entry of a top folder, a file or a folder, to which a path belongs. */
function entryOf(path: string): string {
  return path.split("/")[1]!;
}

const LAYERS_INSIDE = { console: CONSOLE_LAYERS, core: CORE_LAYERS, db: DB_LAYERS };

for (const [top, layers] of Object.entries(LAYERS_INSIDE)) {
  Deno.test(`architecture: folders of ${top} import only from lower layers`, () => {
    const layerIn = (path: string) =>
      layers.findIndex((entries) => entries.includes(entryOf(path)));
    const isInside = (path: string) => topFolderOf(path) === top && /\.tsx?$/.test(path);
    const inside = files.filter(({ path }) => isInside(path));
    assertNone(
      inside.map(({ path }) => path).filter((path) => layerIn(path) === -1),
      `These files are in no layer of ${top}/:`,
    );
    const findings = inside.flatMap(({ path, imports }) =>
      imports.filter(({ target }) =>
        isInside(target) && entryOf(target) !== entryOf(path) && layerIn(target) <= layerIn(path)
      ).map(({ target }) => `${path} imports ${target}`)
    );
    const order = layers.map((entries) => entries.join(" ")).join(" · ");
    assertNone(findings, `In ${top}/ each layer may import only from those after it: ${order}`);
  });
}

Deno.test("architecture: no two folders import each other", () => {
  const examples = new Map<string, string>();
  for (const { path, imports } of programs) {
    for (const { target } of imports) {
      for (const from of foldersOf(path)) {
        for (const to of foldersOf(target)) {
          const isInside = `${from}/`.startsWith(`${to}/`) || `${to}/`.startsWith(`${from}/`);
          if (!isInside) examples.set(`${from} ${to}`, `${path} imports ${target}`);
        }
      }
    }
  }
  const findings = [...examples].flatMap(([pair, example]) => {
    const [from, to] = pair.split(" ");
    const reverse = examples.get(`${to} ${from}`);
    return reverse && from! < to! ? [`${from} and ${to}: ${example}; ${reverse}`] : [];
  });
  assertNone(findings, "These folders import each other:");
});

Deno.test(`architecture: no file of the programs has more than ${MAX_LINES} lines`, () => {
  const longFiles = programs.map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .filter(({ path, lines }) => /\.tsx?$/.test(path) && lines > MAX_LINES);
  assertNone(
    longFiles.map(({ path, lines }) => `${path}: ${lines}`),
    `Split these files by topic, to at most ${MAX_LINES} lines each:`,
  );
});

Deno.test(`architecture: no function of the programs has more than ${MAX_FUNCTION_LINES} lines`, () => {
  const functions = programs.filter(({ path }) => /\.(tsx?|js)$/.test(path)).flatMap(readFunctions);
  assert.ok(functions.length > 2000);
  assertNone(
    functions.filter(({ lines }) => lines > MAX_FUNCTION_LINES)
      .map(({ place, opening, lines }) => `${place}: ${lines} lines: ${opening}`),
    `Split these functions by what their parts do, to at most ${MAX_FUNCTION_LINES} lines each:`,
  );
});

interface FunctionLines {
  /** The path and the line where the function begins. */
  place: string;
  /** How the function begins, because not every function has a name. */
  opening: string;
  lines: number;
}

/** All functions, methods and arrow functions of a file. */
function readFunctions({ path, text }: SourceFile): FunctionLines[] {
  const functions: FunctionLines[] = [];
  const visit = ({ range: [start, end] }: { range: Deno.lint.Range }) => {
    const before = text.slice(0, start).split("\n");
    const lines = text.slice(start, end).split("\n");
    const opening = `${before.at(-1)}${lines[0]}`.trim();
    functions.push({ place: `${path}:${before.length}`, opening, lines: lines.length });
  };
  const visitor = {
    FunctionDeclaration: visit,
    FunctionExpression: visit,
    ArrowFunctionExpression: visit,
  };
  const rules = { functions: { create: () => visitor } };
  Deno.lint.runPlugin({ name: "architecture", rules }, path, text);
  return functions;
}

Deno.test(`architecture: no comment is wider than ${MAX_COLUMNS} columns`, () => {
  const findings = files.flatMap(({ path, text }) =>
    text.split("\n").filter((line) => COMMENT.test(line) && line.length > MAX_COLUMNS)
      .map((line) => `${path}: ${line}`)
  );
  assertNone(findings, "Break these lines; the formatter breaks code, but not comments:");
});

Deno.test("architecture: the console, the payment page, routes and http import types, but no values, from db", () => {
  const findings = files.filter(({ path }) =>
    ["console", "pay", "routes", "http"].includes(topFolderOf(path))
  ).flatMap(({ path, imports }) =>
    imports.filter(({ target, isType }) => topFolderOf(target) === "db" && !isType)
      .map(({ target }) => `${path} imports ${target}`)
  );
  assertNone(findings, "They call core/, which calls db/:");
});

/** Words of the glossary that had several meanings, and the folders that must not use them. */
const RESERVED_WORDS = [
  {
    word: /notif/i,
    meaning: "a message of the gateway; instances wake each other with signals",
    folders: ["db/connection", "db/events", "core/events", "core/jobs"],
    except: ["onnotify", "pg_notify", "notification_id", "PROCESS_NOTIFICATION"],
  },
  {
    word: /subscrib/i,
    meaning: "for recurring charges; events have handlers and followers",
    folders: ["core", "db"],
    except: ["subscribers"],
  },
  {
    word: /hold|held/i,
    meaning: "an authorized card amount; jobs and keys are claimed, deliveries wait",
    folders: ["core", "db"],
    except: ["is_hold", "holder", "holder_id", "KEEP_HELD_DELIVERIES_DAYS", "threshold"],
  },
  {
    word: /position(?!al)/i,
    meaning: "where an event is in the order of all events; pages of lists have cursors",
    folders: ["console", "http", "routes", "core/lists", "core/reports", "db/records"],
    except: [],
  },
];

Deno.test("architecture: a word that had several meanings is used only for the one in the glossary", () => {
  const findings = RESERVED_WORDS.flatMap(({ word, meaning, folders, except }) =>
    files.filter(({ path }) =>
      /\.tsx?$/.test(path) && foldersOf(path).some((folder) => folders.includes(folder))
    ).flatMap(({ path, text }) =>
      namesIn(text).filter((name) => word.test(name) && !except.includes(name))
        .map((name) => `${path}: ${name} (${meaning})`)
    )
  );
  assertNone(findings, "Choose another name; exceptions are columns and settings:");
});

/** The names in code and SQL, without those in strings and comments. */
function namesIn(text: string): string[] {
  const code = text.replaceAll(/"(?:[^"\\\n]|\\.)*"/g, "").replaceAll(
    /\/\*.*?\*\/|\/\/.*?$/gms,
    "",
  );
  return [...new Set(code.match(/[a-z_$][\w$]*/gi))];
}

Deno.test("architecture: the glossary has at most 38 words", async () => {
  const text = await Deno.readTextFile(join(PROJECT, "CONTRIBUTING.md"));
  const [, glossary] = text.match(/^## Glossary$(.*?)^## /ms)!;
  const words = glossary!.match(/^\| [a-z].*$/gm)!;
  assert.ok(words.length > 20 && words.length <= 38, `${words.length} words`);
});

Deno.test("architecture: no function has a type of its own for what it uses of the service", () => {
  const findings = programs.filter(({ text }) => /\b(interface|type) \w*Deps\b/.test(text));
  assertNone(findings.map(({ path }) => path), "Take the `Service`, or a `Pick` of it:");
});

Deno.test("architecture: no text refers to documents outside the repository", async () => {
  const paths = await findFiles(PROJECT, /\.(tsx?|js|css|html|md|json|ya?ml|sql|sh)$/);
  const findings = await findText(
    paths.filter((path) => path !== "tests/architecture_test.ts"),
    /G§|\bincidents? \d+|\bcontract \d+/i,
  );
  assertNone(findings, "Write the fact itself, or link a heading of a page in docs/:");
});

Deno.test("architecture: texts of programs and docs name the actor instead of vague words", async () => {
  const paths = (await findFiles(PROJECT, /\.(tsx?|js|css|md|sh)$/))
    .filter((path) =>
      [...PROGRAMS, "docs", "sdk"].includes(topFolderOf(path)) || !path.includes("/")
    );
  assert.ok(paths.includes("README.md") && paths.includes("docs/how-it-works.md"));
  // A word in quotes is allowed, because one of them is the name of an operating system user.
  const vague = /(?<!["`])\b(nobody|somebody|anybody|whoever|whatever|whichever|anew|besides?)\b/i;
  assertNone(await findText(paths, vague), "Name the caller, the worker, the gateway, …:");
});

/** The places in these files where the pattern matches. */
async function findText(paths: string[], pattern: RegExp): Promise<string[]> {
  const findings: string[] = [];
  for (const path of paths) {
    const lines = (await Deno.readTextFile(join(PROJECT, path))).split("\n");
    for (const [index, line] of lines.entries()) {
      const found = line.match(pattern)?.[0];
      if (found) findings.push(`${path}:${index + 1}: ${found}`);
    }
  }
  return findings;
}
