import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import type { DemoState } from "../../pages/demo.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { assertProblem } from "../support/problem.ts";
import { PROJECT } from "../support/project.ts";

const databaseUrl = await createDatabase();

const BROWSER = {
  headers: { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" },
};

async function readPage(response: Response): Promise<string> {
  const html = await response.text();
  assert.equal(response.status, 200, html);
  assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
  assert.match(response.headers.get("content-security-policy")!, /default-src 'none'/);
  assert.doesNotMatch(html, /<script|style=|javascript:/);
  return html;
}

function linksIn(html: string): string[] {
  return [...html.matchAll(/href="([^"]+)"/g)].map(([, href]) => href!);
}

Deno.test("GET /: returns a page with the request's address to a browser, and a JSON index to other clients", async () => {
  await using app = await openApp({ databaseUrl, env: { BASE_PATH: "/pay" } });
  const welcome = await app.request("http://shop.example:8443/pay/", BROWSER);
  assert.equal(welcome.headers.get("vary"), "Accept");
  const html = await readPage(welcome);
  assert.match(html, /curl http:\/\/shop\.example:8443\/pay\/charge\//);
  assert.ok(linksIn(html).includes("/pay/guides/"));
  assert.match(app.document().info.description!, /\[guides\]\(\/pay\/guides\/\)/);
  for (const accept of ["", "*/*", "application/json", "application/json, text/html"]) {
    const response = await app.request("/pay/", { headers: { Accept: accept } });
    assert.deepEqual(await response.json(), {
      name: "Payment Gateway Integration Service",
      version: "1.0.0",
      reference: "/pay/reference/",
      openapi: "/pay/openapi.json",
      guides: "/pay/guides/",
      console: "/pay/console/",
      health: "/pay/health/ready/",
      sandbox: null,
    });
  }
});

Deno.test("guides: every Markdown file in docs/ has a page, and every link on these pages works", async () => {
  await using app = await openApp({ databaseUrl });
  const files = await readdir(`${PROJECT}/docs`, { recursive: true });
  const expected = files.filter((file) => file.endsWith(".md")).map((file) =>
    `/guides/${file.replace(/(^|\/)README\.md$/, "").replace(/\.md$/, "/")}`.replace(/\/*$/, "/")
  );
  const pages = new Map<string, string>();
  const open = ["/"];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const html = await readPage(await app.request(path, BROWSER));
    pages.set(path, html);
    for (const link of linksIn(html)) {
      const [target = ""] = link.split("#");
      const isGuide = /^\/guides\/([\w-]+\/)*$/.test(target);
      if (isGuide && !pages.has(target) && !open.includes(target)) open.push(target);
    }
  }
  assert.deepEqual([...pages.keys()].filter((path) => path !== "/").sort(), expected.sort());
  for (const [path, html] of pages) {
    for (const link of linksIn(html)) {
      if (link.startsWith("http")) continue;
      const [target, anchor] = link.split("#");
      const page = pages.get(target || path);
      if (anchor) assert.ok(page?.includes(`id="${anchor}"`), `${path} → ${link}`);
      else if (!page) assert.ok(await exists(target!), `${path} → ${link}`);
    }
  }

  async function exists(path: string): Promise<boolean> {
    const response = await app.request(path);
    await response.body?.cancel();
    // A redirect counts, too: the console redirects to its first page.
    return response.status < 400;
  }
});

Deno.test("guides: commands contain the address of the request, and that of the sandbox", async () => {
  await using app = await openApp({ databaseUrl, sandboxUrl: "http://127.0.0.1:9999" });
  const html = await readPage(
    await app.request("http://pay.shop.example/guides/first-payments/", BROWSER),
  );
  assert.match(html, /http:\/\/pay\.shop\.example\/charge\//);
  assert.doesNotMatch(html, /127\.0\.0\.1:8000/);
  const sandbox = await readPage(await app.request("/guides/sandbox/", BROWSER));
  assert.match(sandbox, /http:\/\/127\.0\.0\.1:9999/);
});

Deno.test("guides: an unknown page gets a problem document, and the stylesheet is served with an ETag", async () => {
  await using app = await openApp({ databaseUrl });
  for (const path of ["/guides/nosuch/", "/guides/..%2fREADME/", "/guides/__proto__/"]) {
    await assertProblem(await app.request(path), 404, "not_found");
  }
  const style = await app.request("/guides/style.css");
  assert.match(await style.text(), /color-scheme/);
  const etag = style.headers.get("etag")!;
  const again = await app.request("/guides/style.css", { headers: { "If-None-Match": etag } });
  assert.equal(again.status, 304);
});

Deno.test("guides: every picture in docs/ is small and served, and its page shows it", async () => {
  await using app = await openApp({ databaseUrl });
  const folder = `${PROJECT}/docs/pictures`;
  const html = await readPage(await app.request("/guides/console/", BROWSER));
  for await (const { name } of Deno.readDir(folder)) {
    const bytes = await Deno.readFile(`${folder}/${name}`);
    assert.ok(bytes.length <= 60_000, `${name} has ${bytes.length} bytes`);
    const response = await app.fetchUnchecked(
      new Request(`http://localhost/guides/pictures/${name}`),
    );
    assert.equal(response.headers.get("content-type"), "image/png", name);
    assert.deepEqual(new Uint8Array(await response.arrayBuffer()), bytes);
    assert.ok(html.includes(`<img src="/guides/pictures/${name}" alt="`), name);
  }
});

Deno.test("welcome page: offers demo data in the embedded default, and shows its progress", async () => {
  const states: DemoState[] = [
    { status: "none", percent: 0 },
    { status: "running", percent: 40 },
    { status: "done", percent: 100 },
    { status: "failed", percent: 7 },
  ];
  let state = states[0]!;
  let started = 0;
  const demo = { state: () => Promise.resolve(state), start: () => void started++ };
  await using app = await openApp({ databaseUrl, demo });
  const read = async () => await app.request("http://127.0.0.1:8000/", BROWSER);
  const expected = [
    /<form method="post" action="\/demo\/"><button>Create demo data<\/button>/,
    /<progress aria-label="Progress" max="100" value="40">/,
    /href="\/console\/">console/,
    /The demo data is incomplete.*delete its data folder/,
  ];
  for (const [index, pattern] of expected.entries()) {
    state = states[index]!;
    const page = await read();
    assert.equal(page.headers.get("refresh"), state.status === "running" ? "2" : null);
    assert.match(page.headers.get("content-security-policy")!, /form-action 'self'/);
    // With `no-referrer`, browsers would send the form with `Origin: null`.
    assert.equal(page.headers.get("referrer-policy"), "same-origin");
    assert.match(await readPage(page), pattern);
  }
  const press = (origin: string, host = "127.0.0.1:8000") =>
    app.request(`http://${host}/demo/`, {
      method: "POST",
      headers: { Origin: origin, Host: host },
    });
  const pressed = await press("http://127.0.0.1:8000");
  assert.deepEqual([pressed.status, pressed.headers.get("location")], [303, "/"]);
  assert.equal(started, 1);
  for (const origin of ["https://evil.example", "null", "http://127.0.0.1:9000"]) {
    await assertProblem(await press(origin), 403, "forbidden");
  }
  // A name of another site that resolves to this machine.
  const rebound = "evil.example:8000";
  await assertProblem(await press(`http://${rebound}`, rebound), 403, "forbidden");
  assert.equal(started, 1);
});

Deno.test("welcome page: offers no demo data outside of the embedded default", async () => {
  await using app = await openApp({ databaseUrl });
  assert.doesNotMatch(await readPage(await app.request("/", BROWSER)), /<form|demo data/i);
  const press = { method: "POST", headers: { Origin: "http://localhost", Host: "localhost" } };
  assert.equal((await app.request("http://localhost/demo/", press)).status, 404);
});
