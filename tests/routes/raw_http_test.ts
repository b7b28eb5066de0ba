import assert from "node:assert/strict";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { errorsIn } from "../support/logged_errors.ts";
import { preparedFolder, type ServiceProcess, startService } from "../support/service.ts";

/** Sends raw bytes and reads until the connection ends. */
async function send(service: Pick<ServiceProcess, "url">, text: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const sending = (async () => {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  })().catch(() => {});
  const received: number[] = [];
  const buffer = new Uint8Array(65_536);
  try {
    for (let n; (n = await connection.read(buffer)) !== null;) received.push(...buffer.slice(0, n));
  } catch {
    // The service may also reset the connection.
  }
  await sending;
  return new TextDecoder().decode(new Uint8Array(received));
}

const UNUSUAL_REQUESTS: Record<string, string> = {
  "a path of 100 KB": `GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: x\r\n`,
  "a header of 1 MB": `GET /me/ HTTP/1.1\r\nHost: x\r\nX-Big: ${"a".repeat(1_000_000)}\r\n`,
  "5,000 headers": `GET /me/ HTTP/1.1\r\nHost: x\r\n${"X-A: b\r\n".repeat(5_000)}`,
  "no host": "GET /me/ HTTP/1.1\r\n",
  "an empty host": "GET /me/ HTTP/1.1\r\nHost: \r\n",
  "two hosts": "GET /me/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
  "a host with spaces": "GET /reference HTTP/1.1\r\nHost: a b c\r\n",
  "a host with an unclosed bracket": "GET /reference HTTP/1.1\r\nHost: [::1\r\n",
  "a host with invalid characters": "GET /reference HTTP/1.1\r\nHost: \u00ff\u00fe<>\r\n",
  "a host with user info": "GET /reference HTTP/1.1\r\nHost: a:b@c:d\r\n",
  "two credentials":
    "GET /me/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n",
  "a credential of 60 KB": `GET /me/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${
    "a".repeat(60_000)
  }\r\n`,
  "a credential with non-ASCII bytes":
    "GET /me/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \u0080\u00ff\r\n",
  "broken percent-encoding": "GET /%zz/%/%e0%80 HTTP/1.1\r\nHost: x\r\n",
  "a NUL in the path": "GET /me/%00 HTTP/1.1\r\nHost: x\r\n",
  "a path of 5,000 slashes": `GET ${"/".repeat(5_000)} HTTP/1.1\r\nHost: x\r\n`,
  "dots in the path": "GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n",
  "an absolute target": "GET http://elsewhere/me/ HTTP/1.1\r\nHost: x\r\n",
  "the target *": "OPTIONS * HTTP/1.1\r\nHost: x\r\n",
  "an unknown method": "BREW /me/ HTTP/1.1\r\nHost: x\r\n",
  "a lowercase method": "get /me/ HTTP/1.1\r\nHost: x\r\n",
  "TRACE": "TRACE /me/ HTTP/1.1\r\nHost: x\r\n",
  "CONNECT": "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n",
  "HTTP/1.0": "GET /me/ HTTP/1.0\r\n",
  "a malformed query": "GET /me/?%&=&&a=%ff&a=b HTTP/1.1\r\nHost: x\r\n",
  "a negative Content-Length": "POST /me/ HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n",
  "two Content-Length headers":
    "POST /me/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
  "Content-Length and chunked encoding":
    "POST /me/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
  "an invalid X-Forwarded-For":
    "GET /me/ HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ,,\u00ff, a.b\r\n",
  "an invalid request id": "GET /me/ HTTP/1.1\r\nHost: x\r\nX-Request-Id: \u00ff\u00fe\t{}\r\n",
  "bytes that are not HTTP": "\u0016\u0003\u0001 hello\r\n",
};

Deno.test("raw HTTP: unusual requests never get a 5xx, and the service keeps running", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  for (const [what, head] of Object.entries(UNUSUAL_REQUESTS)) {
    const answer = await send(service, `${head}Connection: close\r\n\r\n`);
    assert.doesNotMatch(answer, /^HTTP\/1\.[01] 5/, `${what}: ${answer.slice(0, 500)}`);
    // Errors of the app are problem documents; errors of the HTTP server are not.
    if (answer.includes("x-request-id") && /^HTTP\/1\.[01] 4/.test(answer)) {
      assert.match(answer, /content-type: application\/problem\+json/i, what);
    }
  }
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  for (const line of service.output().split("\n").filter((line) => line.startsWith("{"))) {
    const { event, level } = JSON.parse(line);
    assert.equal(level, "info", line);
    assert.ok(["start_up", "request"].includes(event), line);
  }
});

Deno.test("raw HTTP: a malformed Host gets 400 before routing, so it cannot select another route", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  // The responses are not checked against the document, because the check needs a valid URL.
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using server = Deno.serve(options, (request, info) => app.fetchUnchecked(request, info));
  const service = { url: `http://127.0.0.1:${server.addr.port}` };
  const get = (host: string, path = "/me/") =>
    send(service, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const malformed = [
    "x/health/live?",
    "x/health/live/#",
    "x?",
    "x#",
    "x\\health",
    "user@x",
    "a b",
    "a, b",
    "",
    "x:80/health/live?",
    "x:port",
    "[::1",
    "[::1]/health/live?",
    "x%2f",
    "\u00ff",
  ];
  for (const host of malformed) {
    const answer = await get(host);
    assert.match(answer, /^HTTP\/1\.1 400 /, `${host}: ${answer.slice(0, 300)}`);
    assert.match(answer, /"field":"Host"/, host);
  }
  const routes = app.logged().map(({ route }) => route);
  assert.deepEqual(routes, malformed.map(() => null));
  for (
    const host of ["x", "x:80", "a-b.example.com:8000", "127.0.0.1", "[::1]:8000", "x_y", "x:"]
  ) {
    assert.match(await get(host, "/health/live/"), /^HTTP\/1\.1 200 /, host);
    assert.match(await get(host), /^HTTP\/1\.1 401 /, host);
  }
});

Deno.test("raw HTTP: connections that are closed in the middle of a request log no errors", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const { hostname, port } = new URL(service.url);
  const partialRequests = [
    "G",
    "GET /me/ HTT",
    "POST /me/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
  ];
  for (const partialRequest of [...partialRequests, ...partialRequests, ...partialRequests]) {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(partialRequest));
    connection.close();
  }
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  assert.deepEqual(errorsIn(service.output()), []);
});
