import assert from "node:assert/strict";
import { dirname, join, relative } from "node:path";
import { guideNames, GUIDES } from "../support/guides/guides.ts";
import { PROJECT } from "../support/project.ts";

const pages = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "sdk/README.md"]
    .map((name) => join(PROJECT, name)),
  ...(await guideNames()).map((name) => join(GUIDES, name)),
  ...await decisionPages(),
];

async function decisionPages(): Promise<string[]> {
  const folder = join(GUIDES, "decisions");
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.filter(({ name }) => name.endsWith(".md")).map(({ name }) => join(folder, name));
}

Deno.test("pages: every link leads to an existing file and heading", async () => {
  const broken: string[] = [];
  for (const page of pages) {
    for (const link of linksOf(await Deno.readTextFile(page))) {
      const [path = "", heading] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      const text = await read(target);
      const exists = text !== null && (heading === undefined || anchorsOf(text).includes(heading));
      if (!exists) broken.push(`${relative(PROJECT, page)}: ${link}`);
    }
  }
  assert.deepEqual(broken, []);
});

/** Paths of source files in text and code blocks; patterns like `core/*` and `…` do not match. */
const SOURCE_PATH =
  /(?<![\w/.-])(?:\.\/)?((?:bench|proofs|commands|concurrency|core|db|openapi|routes|sandbox|tests)\/[\w./-]+\.(?:ts|sql|sh|json))/g;

Deno.test("pages: every source file that is named exists", async () => {
  const missing: string[] = [];
  for (const page of pages) {
    for (const [, path] of (await Deno.readTextFile(page)).matchAll(SOURCE_PATH)) {
      const exists = await read(join(PROJECT, path!)) !== null;
      if (!exists) missing.push(`${relative(PROJECT, page)}: ${path}`);
    }
  }
  assert.deepEqual(missing, []);
});

Deno.test("guides: the README and the list of guides link to every guide", async () => {
  const readme = linksOf(await Deno.readTextFile(join(PROJECT, "README.md")));
  const list = linksOf(await Deno.readTextFile(join(GUIDES, "README.md")));
  for (const name of (await guideNames()).filter((name) => name !== "README.md")) {
    assert.ok(list.includes(name), `docs/README.md lacks ${name}`);
    assert.ok(readme.includes(`docs/${name}`), `README.md lacks ${name}`);
  }
});

Deno.test("README: has at most 120 lines", async () => {
  const lines = (await Deno.readTextFile(join(PROJECT, "README.md"))).split("\n").length;
  assert.ok(
    lines <= 120,
    `README.md has ${lines} lines, but at most 120 are allowed: move text to a guide`,
  );
});

/** Links inside the project; external ones are not checked. */
function linksOf(markdown: string): string[] {
  const links = [...removeBlocks(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  return links.filter((link) => !/^[a-z]+:/.test(link));
}

/** The anchors of headings on rendered pages. */
function anchorsOf(markdown: string): string[] {
  return [...removeBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")
  );
}

/** Removes fenced blocks: in them, `#` starts a comment and not a heading. */
function removeBlocks(markdown: string): string {
  return markdown.replace(/^```.*?^```$/gms, "");
}

async function read(path: string): Promise<string | null> {
  try {
    return (await Deno.stat(path)).isDirectory ? "" : await Deno.readTextFile(path);
  } catch {
    return null;
  }
}
