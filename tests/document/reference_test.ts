import assert from "node:assert/strict";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { preparedFolder, startService } from "../support/service.ts";

const databaseUrl = await createDatabase();

Deno.test("reference page: page and script are served by the service with a strict content security policy", async () => {
  await using app = await openApp({ databaseUrl });
  const page = await app.request("/reference");
  assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
  const policy = page.headers.get("content-security-policy") ?? "";
  const nonce = policy.match(/'nonce-([\w-]+)'/)?.[1];
  const html = await page.text();
  assert.ok(nonce && html.includes(`nonce="${nonce}"`));
  assert.match(policy, /default-src 'none'.*connect-src 'self'.*frame-ancestors 'none'/);
  assert.match(html, /src="\/reference\/scalar\.js"/);

  const script = await app.request("/reference/scalar.js");
  assert.ok((await script.text()).length > 1_000_000);
});

const AT_PREFIX = {
  DATABASE_URL: "postgres://somewhere/else",
  GATEWAY_SERVER_KEY: "Mid-server-of-the-tests",
  BASE_PATH: "/shop/pay",
  PUBLIC_URL: "https://shop.example:8443/shop/pay",
};

Deno.test("reference page: shows links and all operations without its script", async () => {
  await using app = await openApp({ databaseUrl, env: AT_PREFIX });
  const html = await (await app.request("/shop/pay/reference/")).text();
  const [beforeScript] = html.split("<script");
  for (const path of ["/", "/guides/", "/console/", "/openapi.json"]) {
    assert.ok(beforeScript!.includes(`href="/shop/pay${path}"`), path);
  }
  const operations = Object.entries(app.document().paths!).flatMap(([path, methods]) =>
    Object.entries<Json>(methods!).map(([method, { summary }]) =>
      `<code>${method.toUpperCase()} /shop/pay${path}</code> ${summary.replaceAll("'", "&#39;")}`
    )
  );
  assert.ok(operations.length > 50);
  assert.deepEqual(operations.filter((each) => !beforeScript!.includes(each)), []);
});

Deno.test("document: its examples have the address and the base path of the service", async () => {
  await using app = await openApp({ databaseUrl, env: AT_PREFIX });
  const document: Json = JSON.parse(JSON.stringify(app.document()));
  const { description } = document.info;
  assert.match(description, /^export URL=https:\/\/shop\.example:8443\/shop\/pay KEY=/m);
  for (const path of ["/guides/", "/console/", "/"]) {
    assert.ok(description.includes(`](/shop/pay${path})`), path);
  }
  assert.match(description, /^GET \/shop\/pay\/payments\/\?limit=20 HTTP/m);
  assert.match(description, /^Link: <\/shop\/pay\/payments\/\?limit=20/m);
  assert.ok(!/127\.0\.0\.1|\]\(\/(?!shop\/pay)/.test(description), "no other address");
  const { responses } = document.paths["/charge/"].post;
  const { examples } = responses["201"].headers.Location;
  assert.match(examples.pending_card.value, /^\/shop\/pay\/payments\/0/);
  const list = document.paths["/payments/"].get.responses["200"];
  assert.match(list.headers.Link.example, /^<\/shop\/pay\/payments\/\?limit/);
});

Deno.test("document: without PUBLIC_URL its examples have the port on which the service listens", async () => {
  await using app = await openApp({ databaseUrl, env: { ...REAL_INSTALLATION, PORT: "9000" } });
  assert.match(app.document().info.description!, /^export URL=http:\/\/127\.0\.0\.1:9000 KEY=/m);
});

Deno.test("reference page: contains the development key only if the Host header names this machine", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const { port } = new URL(service.url);
  const page = async (host: string) => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
    const request = `GET /reference HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    return await new Response(connection.readable).text();
  };
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    assert.ok((await page(host)).includes(service.keys.user));
  }
  // After DNS rebinding, a page of such a host could read the response.
  const foreignHosts = [`rebound.example.com:${port}`, "example.com", "localhost.example.com"];
  for (
    const host of [...foreignHosts, "evil@localhost", "localhost#x", "localhost/x", "a b", "["]
  ) {
    assert.ok(!(await page(host)).includes("gk_"));
  }
  assert.ok(!(await page(`localhost:${port}`)).includes(service.keys.staff));
});
