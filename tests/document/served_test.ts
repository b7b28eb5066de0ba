import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { openApp, type TestApp } from "../support/app.ts";
import { isPartial } from "../support/share.ts";
import { PROJECT } from "../support/project.ts";
import { environment } from "../support/service.ts";

/** No request here uses the database. */
const databaseUrl = "postgres://127.0.0.1/none";

/** Both are served the same way: the document, and the script of the reference page. */
const SERVED_FILES = [
  { path: "/openapi.json", type: "application/json", cacheControl: "no-cache" },
  {
    path: "/reference/scalar.js",
    type: "text/javascript; charset=utf-8",
    cacheControl: "public, max-age=86400",
  },
];

function requestFile(
  app: TestApp,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
) {
  return app.request(path, { method, headers });
}

Deno.test("served document: is compressed only for clients that accept gzip", async () => {
  await using app = await openApp({ databaseUrl });
  const gzipHeaders = [
    "gzip",
    "GZIP",
    "br, gzip",
    "gzip;q=0.5",
    "deflate, gzip;q=1.0, *;q=0.5",
    "*",
  ];
  const otherHeaders = [
    "",
    "br",
    "identity",
    "gzip;q=0",
    "gzip; q=0.000, br",
    "*;q=0",
    "xgzip",
    "gzip;q=x",
  ];
  for (const { path, type } of SERVED_FILES) {
    const plain = new Uint8Array(await (await requestFile(app, path)).arrayBuffer());
    for (const header of [...gzipHeaders, ...otherHeaders]) {
      const answer = await requestFile(app, path, { "Accept-Encoding": header });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      const isGzip = gzipHeaders.includes(header);
      assert.equal(answer.headers.get("content-encoding"), isGzip ? "gzip" : null, header);
      assert.ok(plain.length === (isGzip ? gunzipSync(bytes) : bytes).length, header);
      assert.ok(!isGzip || bytes.length < plain.length / 3);
      assert.equal(answer.headers.get("content-length"), String(bytes.length));
      assert.equal(answer.headers.get("content-type"), type);
    }
  }
});

Deno.test("served document: a client with the current version gets 304 without a body", async () => {
  await using app = await openApp({ databaseUrl });
  for (const { path, cacheControl } of SERVED_FILES) {
    for (const encoding of ["gzip", "identity"]) {
      const accept = { "Accept-Encoding": encoding };
      const firstResponse = await requestFile(app, path, accept);
      const tag = firstResponse.headers.get("etag") ?? "";
      assert.match(tag, /^"[\w-]{22}"$/);
      for (const knownTag of [tag, `"old", ${tag}`, `W/${tag}`, `"old",W/${tag}`, "*"]) {
        const again = await requestFile(app, path, { ...accept, "If-None-Match": knownTag });
        assert.equal(again.status, 304, knownTag);
        assert.equal(await again.text(), "");
        assert.equal(again.headers.get("etag"), tag);
      }
      for (const otherTag of ['"old"', tag.slice(0, -2) + '"', tag.slice(1, -1), ""]) {
        const again = await requestFile(app, path, { ...accept, "If-None-Match": otherTag });
        assert.equal(again.status, 200, otherTag);
        assert.equal(await again.text(), await (await requestFile(app, path, accept)).text());
      }
      for (const knownTag of ["", tag]) {
        const answer = await requestFile(app, path, { ...accept, "If-None-Match": knownTag });
        assert.equal(answer.headers.get("vary"), "Accept-Encoding");
        assert.equal(answer.headers.get("cache-control"), cacheControl);
      }
    }
  }
});

Deno.test("served document: the ETag differs by encoding and is the same on each instance", async () => {
  await using app = await openApp({ databaseUrl });
  await using otherInstance = await openApp({ databaseUrl });
  const tag = async (app: TestApp, encoding: string) =>
    (await requestFile(app, "/openapi.json", { "Accept-Encoding": encoding })).headers.get("etag");
  const tags = [await tag(app, "gzip"), await tag(app, "identity")];
  assert.notEqual(tags[0], tags[1]);
  assert.deepEqual([await tag(otherInstance, "gzip"), await tag(otherInstance, "identity")], tags);
  await using changed = await openApp({
    databaseUrl,
    env: { DATABASE_URL: "postgres://x/y", GATEWAY_SERVER_KEY: "Mid-server-x", BASE_PATH: "/pay" },
  });
  const response = await requestFile(changed, "/pay/openapi.json", { "If-None-Match": tags[1]! });
  assert.equal(response.status, 200);
  assert.ok(!tags.includes(response.headers.get("etag")));
});

Deno.test("served document: HEAD over HTTP has the headers of GET and no body", async () => {
  await using app = await openApp({ databaseUrl });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => app.fetch(request),
  );
  const sendRaw = async (method: string, path: string, headers: string) => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
    const request = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`;
    await connection.write(new TextEncoder().encode(`${request}${headers}\r\n`));
    const bytes = new Uint8Array(await new Response(connection.readable).arrayBuffer());
    const text = new TextDecoder("latin1").decode(bytes);
    const end = text.indexOf("\r\n\r\n") + 4;
    const head = text.slice(0, end).replaceAll(/^(date|x-request-id): .*\r\n/gm, "");
    return { head: head.split("\r\n").toSorted(), length: bytes.length - end };
  };
  for (const { path } of SERVED_FILES) {
    for (const accept of ["Accept-Encoding: gzip, br\r\n", ""]) {
      const get = await sendRaw("GET", path, accept);
      const head = await sendRaw("HEAD", path, accept);
      assert.deepEqual(head.head, get.head);
      assert.equal(head.length, 0);
      assert.ok(get.head.includes(`content-length: ${get.length}`), `${get.head}`);
      const tag = get.head.find((line) => line.startsWith("etag: "))!.slice("etag: ".length);
      assert.match(tag, /^"/);
      const notModified = await sendRaw("HEAD", path, `${accept}If-None-Match: ${tag}\r\n`);
      assert.ok(notModified.head.includes("HTTP/1.1 304 Not Modified"));
    }
  }
});

Deno.test({
  name: "served document: ten thousand requests leak no memory",
  ignore: isPartial,
  fn: async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-q", "-P=test", "--v8-flags=--expose-gc"],
        "tests/support/document/memory.ts",
      ],
      env: environment({}),
      clearEnv: true,
      cwd: PROJECT,
      stdin: "null",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    const heapBytes: number[] = JSON.parse(new TextDecoder().decode(stdout));
    assert.equal(heapBytes.length, 10);
    const growth = growthPerRequest(heapBytes);
    assert.ok(growth < 100, `${growth} bytes per request: ${heapBytes}`);
  },
});

Deno.test("served document: the leak check ignores late compilation and finds small leaks", () => {
  const steady = Array.from({ length: 10 }, () => 50_000_000);
  assert.equal(growthPerRequest(steady), 0);
  assert.equal(growthPerRequest(steady.with(9, 52_000_000)), 0);
  assert.equal(growthPerRequest(steady.with(1, 48_000_000).with(8, 48_000_000)), 0);
  assert.equal(growthPerRequest(steady.with(3, 49_000_000)), 0);
  assert.equal(
    growthPerRequest(steady.map((bytes, thousand) => bytes + thousand * 1000 * 120)),
    120,
  );
});

/**
 * The growth in bytes per request: the median of the slopes between all pairs of measurements after
 * the first thousand requests, which are a warm-up. V8 compiles and drops code at any time, which
 * moves single measurements by hundreds of kilobytes. Single measurements hardly change the median
 * of all slopes, but a leak raises every slope.
 */
function growthPerRequest(heapBytes: number[]): number {
  const warm = heapBytes.slice(1);
  const slopes = warm.flatMap((bytes, i) =>
    warm.slice(i + 1).map((later, distance) => (later - bytes) / ((distance + 1) * 1000))
  ).toSorted((a, b) => a - b);
  return slopes[Math.floor(slopes.length / 2)]!;
}
