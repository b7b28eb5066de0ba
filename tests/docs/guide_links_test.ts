import assert from "node:assert/strict";
import { dirname, join, relative } from "node:path";
import { guideNames, GUIDES } from "../support/guides/guides.ts";
import { PROJECT } from "../support/project.ts";

const pages = [
  join(PROJECT, "README.md"),
  ...(await guideNames()).map((name) => join(GUIDES, name)),
];

Deno.test("guides: every link in the README and the guides leads to an existing file and heading", async () => {
  const broken: string[] = [];
  for (const page of pages) {
    for (const link of linksOf(await Deno.readTextFile(page))) {
      const [path = "", heading] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      const text = await read(target);
      const isThere = text !== null && (heading === undefined || anchorsOf(text).includes(heading));
      if (!isThere) broken.push(`${relative(PROJECT, page)}: ${link}`);
    }
  }
  assert.deepEqual(broken, []);
});

Deno.test("guides: the README and the list of guides link every guide", async () => {
  const readme = linksOf(await Deno.readTextFile(join(PROJECT, "README.md")));
  const list = linksOf(await Deno.readTextFile(join(GUIDES, "README.md")));
  for (const name of (await guideNames()).filter((name) => name !== "README.md")) {
    assert.ok(list.includes(name), `docs/README.md lacks ${name}`);
    assert.ok(readme.includes(`docs/${name}`), `README.md lacks ${name}`);
  }
});

Deno.test("README: fits on one page", async () => {
  const lines = (await Deno.readTextFile(join(PROJECT, "README.md"))).split("\n").length;
  assert.ok(lines <= 120, `it has ${lines} lines: what is more belongs into a guide`);
});

/** Links inside the project; external ones are not checked. */
function linksOf(markdown: string): string[] {
  const links = [...prose(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  return links.filter((link) => !/^[a-z]+:/.test(link));
}

/** The anchors of headings on rendered pages. */
function anchorsOf(markdown: string): string[] {
  return [...prose(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")
  );
}

/** Without fenced blocks, where `#` starts a comment. */
function prose(markdown: string): string {
  return markdown.replace(/^```.*?^```$/gms, "");
}

async function read(path: string): Promise<string | null> {
  try {
    return (await Deno.stat(path)).isDirectory ? "" : await Deno.readTextFile(path);
  } catch {
    return null;
  }
}
