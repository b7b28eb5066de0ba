import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { checkEndpointUrl } from "../../core/posting/endpoint_url.ts";
import {
  createPoster,
  type Post,
  PostAborted,
  type PosterOptions,
} from "../../core/posting/post.ts";
import { TEST_CERTIFICATE } from "../support/events/test_certificate.ts";
import { until } from "../support/until.ts";
import { openWebhookReceiver, verifyWebhook } from "../support/events/webhook_receiver.ts";

const UNREACHABLE_URL = "https://hooks.test/";

function post(url: string, body: string | Uint8Array = "{}"): Post {
  return {
    url,
    headers: {},
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
  };
}

/** A poster that resolves every host to this machine. */
function openPoster(options: Partial<PosterOptions> = {}) {
  const resolve = () => Promise.resolve(["127.0.0.1"]);
  return createPoster({ allowPrivate: true, resolve, ca: TEST_CERTIFICATE, ...options });
}

Deno.test("post: sends exactly the given bytes and headers", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  receiver.answer({ status: 202, body: '{"ok":true}' });
  const body = new Uint8Array([0xff, 0x00, 0x7b, 0x0a, 0xc3, 0xbc]);
  const url = `http://127.0.0.1:${receiver.port}/a%20b?c=d&e`;
  const headers = { "webhook-id": "evt_1", "Content-Type": "text/plain" };
  const { duration_ms, ...posted } = await poster.post({ url, headers, body });
  assert.deepEqual(posted, { status_code: 202, answer: '{"ok":true}', error: null });
  assert.ok(Number.isInteger(duration_ms) && duration_ms >= 0);
  const [request] = receiver.received;
  assert.equal(`${request?.method} ${request?.path}`, "POST /a%20b?c=d&e");
  assert.deepEqual([...request!.body], [...body]);
  const { host, "content-length": length, "content-type": type, ...rest } = request!.headers;
  assert.deepEqual({ host, length, type }, {
    host: `127.0.0.1:${receiver.port}`,
    length: "6",
    type: "application/json",
  });
  assert.equal(rest["user-agent"], "payment-gateway-webhooks/1.0");
  assert.equal(rest["webhook-id"], "evt_1");
});

Deno.test("post: a receiver can verify the signature of the body", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  const secret = `whsec_${btoa("a secret of thirty-two characters")}`;
  const [id, at, text] = ["evt_1", new Date(), '{ "name": "Zoë" }'];
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, at, text),
  };
  await poster.post({ ...post(receiver.url, text), headers });
  const request = receiver.received[0]!;
  assert.deepEqual(verifyWebhook(secret, request), { name: "Zoë" });
  const changed = { ...request, body: new TextEncoder().encode('{"name": "Zoë" }') };
  assert.throws(() => verifyWebhook(secret, changed), /signature/);
});

Deno.test("post: accepts a certificate that is valid for the host name or address", async () => {
  await using receiver = openWebhookReceiver({ tls: true });
  await using poster = openPoster();
  for (const host of ["hooks.test", "127.0.0.1"]) {
    const posted = await poster.post(post(`https://${host}:${receiver.port}/a`));
    assert.deepEqual([posted.status_code, posted.error], [200, null], host);
  }
  const hosts = receiver.received.map(({ headers }) => headers.host);
  assert.deepEqual(hosts, [`hooks.test:${receiver.port}`, `127.0.0.1:${receiver.port}`]);
});

Deno.test("post: sends nothing to a server with an invalid certificate", async () => {
  await using receiver = openWebhookReceiver({ tls: true });
  await using trusting = openPoster();
  await using poster = openPoster({ ca: undefined });
  const otherName = await trusting.post(post(`https://other.test:${receiver.port}/`));
  assert.match(otherName.error ?? "", /^The certificate is not valid: .*other\.test/);
  const unknownIssuer = await poster.post(post(`https://hooks.test:${receiver.port}/`));
  assert.match(unknownIssuer.error ?? "", /^The certificate is not valid: .*self-signed/);
  for (const posted of [otherName, unknownIssuer]) assert.equal(posted.status_code, null);
  assert.deepEqual(receiver.received, []);
});

Deno.test("post: reports a server without TLS or HTTP differently from one that is down", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  receiver.answer({ raw: "SSH-2.0-OpenSSH_9.2\r\n" });
  const noHttp = await poster.post(post(receiver.url));
  assert.deepEqual([noHttp.status_code, noHttp.error], [null, "The response is not valid HTTP"]);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const posting = poster.post(post(`https://hooks.test:${listener.addr.port}/`));
  using connection = await listener.accept();
  await connection.write(new TextEncoder().encode("SSH-2.0-OpenSSH_9.2\r\n"));
  const noTls = await posting;
  assert.deepEqual([noTls.status_code, noTls.error], [null, "The TLS handshake failed"]);
});

Deno.test("post: sends nothing to an address that is not public, in any notation", async () => {
  await using receiver = openWebhookReceiver({ tls: true });
  await using poster = openPoster({ allowPrivate: false });
  for (
    const host of [
      ...["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::1]", "[::]", "0"],
      ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[fe80::1]", "[fd00::1]", "169.254.169.254"],
    ]
  ) {
    const posted = await poster.post(post(`https://${host}:${receiver.port}/`));
    assert.equal(posted.error, "The host resolves to a private address", host);
    assert.equal(posted.status_code, null);
  }
  assert.deepEqual(receiver.received, []);
});

Deno.test("post: sends nothing to a host if one of its addresses is not public", async () => {
  await using receiver = openWebhookReceiver({ tls: true });
  for (
    const addresses of [
      ["127.0.0.1"],
      ["::ffff:127.0.0.1"],
      ["169.254.169.254"],
      ["8.8.8.8", "127.0.0.1"],
      ["127.0.0.1", "8.8.8.8"],
    ]
  ) {
    const resolve = () => Promise.resolve(addresses);
    await using poster = openPoster({ allowPrivate: false, resolve });
    for (const host of ["hooks.test", "localhost", "metadata.google.internal"]) {
      const posted = await poster.post(post(`https://${host}:${receiver.port}/`));
      assert.equal(posted.error, "The host resolves to a private address", addresses.join());
    }
  }
  assert.deepEqual(receiver.received, []);
});

Deno.test("post: checks the addresses of a host again for each connection", async () => {
  await using receiver = openWebhookReceiver({ tls: true });
  const answers = [["8.8.8.8"], ["127.0.0.1"]];
  const resolve = () => Promise.resolve(answers.shift() ?? []);
  const url = `https://hooks.test:${receiver.port}/`;
  assert.deepEqual(await checkEndpointUrl(url, { allowPrivate: false, resolve }), { url });
  await using poster = openPoster({ allowPrivate: false, resolve });
  const posted = await poster.post(post(url));
  assert.equal(posted.error, "The host resolves to a private address");
  assert.deepEqual(receiver.received, []);
});

Deno.test("post: connects to the address it has checked, and resolves the host once", async () => {
  await using receiver = openWebhookReceiver({ tls: true });
  // A second lookup would return an address without a server.
  const answers = [["127.0.0.1"], ["127.0.0.2"]];
  let lookups = 0;
  const resolve = () => Promise.resolve(answers[lookups++] ?? []);
  await using poster = openPoster({ resolve });
  const posted = await poster.post(post(`https://hooks.test:${receiver.port}/`));
  assert.deepEqual([posted.status_code, lookups], [200, 1]);
});

Deno.test("post: uses another address of the host if the first refuses the connection", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster({ resolve: () => Promise.resolve(["::1", "127.0.0.1"]) });
  const posted = await poster.post(post(`http://hooks.test:${receiver.port}/`));
  assert.equal(posted.status_code, 200);
});

Deno.test("post: sends nothing over http unless private addresses are allowed", async () => {
  let lookups = 0;
  const resolve = () => Promise.resolve([`8.8.8.${++lookups}`]);
  await using poster = openPoster({ allowPrivate: false, resolve });
  const posted = await poster.post(post("http://example.com/"));
  assert.deepEqual([posted.error, lookups], ["Only https URLs are allowed", 0]);
});

Deno.test("post: returns a redirect as the result and does not follow it", async () => {
  await using redirectTarget = openWebhookReceiver();
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.answer({ status, headers: { location: redirectTarget.url } });
    const posted = await poster.post(post(receiver.url));
    assert.deepEqual([posted.status_code, posted.error], [status, null]);
  }
  assert.deepEqual(redirectTarget.received, []);
});

Deno.test("post: returns every status", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  for (const status of [200, 204, 304, 400, 410, 429, 500, 599]) {
    receiver.answer({ status });
    const posted = await poster.post(post(receiver.url));
    assert.deepEqual([posted.status_code, posted.answer, posted.error], [status, null, null]);
  }
});

Deno.test("post: ignores informational responses and does not switch protocols", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  receiver.answer({
    raw: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n",
  });
  assert.equal((await poster.post(post(receiver.url))).status_code, 201);
  receiver.answer({
    raw: "HTTP/1.1 101 Change\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
  });
  const changed = await poster.post(post(receiver.url));
  assert.deepEqual([changed.status_code, changed.error], [null, "The connection failed"]);
});

Deno.test("post: returns the first 1,000 bytes of the body as text that PostgreSQL can store", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  const storedAnswerOf = async (body: string | Uint8Array) => {
    receiver.answer({ status: 500, body });
    return (await poster.post(post(receiver.url))).answer;
  };
  assert.equal(await storedAnswerOf("a".repeat(1_000)), "a".repeat(1_000));
  assert.equal(await storedAnswerOf("a".repeat(1_001)), "a".repeat(1_000));
  assert.equal(await storedAnswerOf("b".repeat(1_000_000)), "b".repeat(1_000));
  // An incomplete character at the end is dropped.
  assert.equal(await storedAnswerOf("a".repeat(999) + "üü"), "a".repeat(999));
  assert.equal(await storedAnswerOf(new Uint8Array([0x61, 0, 0xff, 0x62, 0])), "a\uFFFDb");
  assert.equal(await storedAnswerOf(new Uint8Array([0, 0])), null);
});

Deno.test("post: the default timeout is 15 seconds", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  receiver.answer("hang");
  const { setTimeout: realSetTimeout } = globalThis;
  // Shortens only the timer of 15 seconds.
  const shortened = (run: () => void, ms?: number) => realSetTimeout(run, ms === 15_000 ? 50 : ms);
  try {
    globalThis.setTimeout = Object.assign(shortened, realSetTimeout);
    assert.equal((await poster.post(post(receiver.url))).error, "No response within 15 s");
  } finally {
    globalThis.setTimeout = realSetTimeout;
  }
});

Deno.test("post: times out if no response arrives", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster({ timeoutMs: 300 });
  for (
    const answer of [
      "hang",
      { raw: "HTTP/1.1 200 O" },
      { raw: "HTTP/1.1 200 OK\r\nX-Slow: " },
      { raw: "HTTP/1.1 100 Continue\r\n\r\n" },
    ] as const
  ) {
    receiver.answer(answer);
    const posted = await poster.post(post(receiver.url));
    assert.deepEqual([posted.status_code, posted.error], [null, "No response within 0.3 s"]);
  }
});

Deno.test("post: the timeout includes DNS and the TLS handshake", async () => {
  using silentListener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using withoutDns = openPoster({ timeoutMs: 200, resolve: () => new Promise(() => {}) });
  await using poster = openPoster({ timeoutMs: 200 });
  const posts = [
    withoutDns.post(post(UNREACHABLE_URL)),
    poster.post(post(`https://hooks.test:${silentListener.addr.port}/`)),
  ];
  for (const { status_code, error } of await Promise.all(posts)) {
    assert.deepEqual([status_code, error], [null, "No response within 0.2 s"]);
  }
});

Deno.test("post: returns the status of a response with a slow or endless body", async () => {
  await using receiver = openWebhookReceiver();
  // Far longer than the test may take, so that the timeout does not end the responses.
  await using poster = openPoster({ timeoutMs: 600_000 });
  receiver.answer("trickle");
  const trickled = await poster.post(post(receiver.url));
  assert.deepEqual([trickled.status_code, trickled.error], [200, null]);
  assert.match(trickled.answer ?? "", /^\.+$/);
  receiver.answer("endless");
  const endless = await poster.post(post(receiver.url));
  assert.deepEqual([endless.status_code, endless.error], [200, null]);
  assert.equal(endless.answer, "e".repeat(1_000));
  receiver.answer({ raw: "HTTP/1.1 503 Away\r\nContent-Length: 10\r\n\r\n" });
  const withoutBody = await poster.post(post(receiver.url));
  assert.deepEqual([withoutBody.status_code, withoutBody.answer, withoutBody.error], [
    503,
    null,
    null,
  ]);
});

Deno.test("post: returns the status of a truncated response, and an error if the connection closes without a response", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  receiver.answer("cut");
  const cut = await poster.post(post(receiver.url));
  assert.deepEqual([cut.status_code, cut.answer, cut.error], [200, "half an ans", null]);
  receiver.answer("close");
  const closed = await poster.post(post(receiver.url));
  assert.equal(closed.status_code, null);
  assert.equal(closed.error, "The connection was closed before a response arrived");
  // The second request used a new connection, so the receiver may have processed it: no retry.
  assert.equal(receiver.received.length, 2);
});

Deno.test("post: reaches a receiver again after it was down", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  assert.equal((await poster.post(post(receiver.url))).status_code, 200);
  receiver.down();
  const whileDown = await poster.post(post(receiver.url));
  assert.deepEqual([whileDown.status_code, whileDown.error], [null, "The connection was refused"]);
  receiver.up();
  assert.equal((await poster.post(post(receiver.url))).status_code, 200);
});

Deno.test("post: reports a host that does not resolve", async () => {
  for (const resolve of [() => Promise.reject(new Error("no")), () => Promise.resolve([])]) {
    await using poster = openPoster({ resolve });
    const posted = await poster.post(post(UNREACHABLE_URL));
    assert.deepEqual([posted.status_code, posted.error], [null, "The host name does not resolve"]);
  }
});

Deno.test("post: reuses a connection and resolves its host once", async () => {
  await using receiver = openWebhookReceiver({ tls: true });
  let lookups = 0;
  const resolve = () => Promise.resolve(lookups++ === 0 ? ["127.0.0.1"] : []);
  await using poster = openPoster({ resolve });
  // A body longer than the stored part does not close the connection.
  receiver.answer({ body: "a".repeat(5_000) });
  for (let n = 0; n < 20; n++) {
    const posted = await poster.post(post(`https://hooks.test:${receiver.port}/`, `${n}`));
    assert.equal(posted.status_code, 200);
  }
  assert.deepEqual(new Set(receiver.received.map(({ connection }) => connection)), new Set([1]));
});

Deno.test("post: closes the connection if the response body is longer than 16 KiB", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  receiver.answer({ body: "a".repeat(100_000) });
  for (let n = 0; n < 2; n++) await poster.post(post(receiver.url));
  assert.deepEqual(receiver.received.map(({ connection }) => connection), [1, 2]);
});

Deno.test("post: retries once if a kept-alive connection was closed by the receiver", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster();
  receiver.answer(({ number }) => number === 2 ? "close" : {});
  await poster.post(post(receiver.url, "first"));
  const again = await poster.post(post(receiver.url, "second"));
  assert.deepEqual([again.status_code, again.error], [200, null]);
  assert.deepEqual(receiver.received.map(({ connection }) => connection), [1, 1, 2]);
  await poster.post(post(receiver.url, "third"));
  receiver.answer("close");
  const refused = await poster.post(post(receiver.url, "fourth"));
  assert.equal(refused.error, "The connection was closed before a response arrived");
  assert.equal(receiver.received.length, 6);
});

Deno.test("post: a timeout on a kept-alive connection does not send the request again", async () => {
  await using receiver = openWebhookReceiver();
  await using poster = openPoster({ timeoutMs: 1_000 });
  receiver.answer(({ number }) => number === 2 ? "hang" : {});
  await poster.post(post(receiver.url, "first"));
  const timedOut = await poster.post(post(receiver.url, "second"));
  assert.equal(timedOut.error, "No response within 1 s");
  await poster.post(post(receiver.url, "third"));
  const connections = receiver.received.map(({ connection }) => connection);
  assert.deepEqual(connections, [1, 1, 2]);
  assert.equal(new TextDecoder().decode(receiver.received[2]?.body), "third");
});

Deno.test("post: the caller's signal aborts one request, and closing the poster aborts all", async () => {
  await using receiver = openWebhookReceiver();
  receiver.answer("hang");
  const caller = new AbortController();
  const poster = openPoster();
  const abortedByCaller = assert.rejects(
    poster.post(post(receiver.url), caller.signal),
    PostAborted,
  );
  const abortedByClose = assert.rejects(poster.post(post(receiver.url)), PostAborted);
  await until("both have arrived", () => receiver.received.length === 2);
  caller.abort();
  await abortedByCaller;
  await poster[Symbol.asyncDispose]();
  await abortedByClose;
  await assert.rejects(poster.post(post(receiver.url)), PostAborted);
  assert.equal(receiver.received.length, 2);
});

Deno.test("post: a thousand posts with any outcome leave no connection open", async () => {
  await using receiver = openWebhookReceiver();
  // Idle connections stay open for longer than the test waits.
  const idleMs = 3_600_000;
  await using poster = openPoster({ timeoutMs: 60_000, idleMs });
  // Only for posts that get no response: on a slow machine others exceed its time limit.
  await using impatient = openPoster({ timeoutMs: 1_000, idleMs });
  receiver.answer(({ path }) => {
    if (path === "/hang" || path === "/endless" || path === "/close") {
      return path.slice(1) as "hang" | "endless" | "close";
    }
    return { body: "thank you" };
  });
  function pathOf(number: number): string {
    if (number % 50 === 0) return "/hang";
    if (number % 20 === 0) return "/endless";
    return number % 10 === 0 ? "/close" : "/";
  }
  let remaining = 1_000;
  const posted: Record<string, Set<number | null>> = {};
  async function work() {
    while (remaining > 0) {
      const path = pathOf(remaining--);
      const { post: send } = path === "/hang" ? impatient : poster;
      const { status_code } = await send(post(new URL(path, receiver.url).href));
      (posted[path] ??= new Set()).add(status_code);
    }
  }
  await Promise.all(Array.from({ length: 16 }, work));
  assert.deepEqual(posted, {
    "/": new Set([200]),
    "/hang": new Set([null]),
    "/endless": new Set([200]),
    "/close": new Set([null]),
  });
  await until("only kept-alive connections are open", () => receiver.connections() <= 16);
  await poster[Symbol.asyncDispose]();
  await until("no connection is open", () => receiver.connections() === 0);
});

Deno.test("post: trusts the system's certificates and needs network permission only", async () => {
  await using receiver = openWebhookReceiver({ tls: true });
  assert.equal(await postFromProcess(receiver.url), "200 null\n");
});

Deno.test("post: a kept-alive connection does not keep the process running", async () => {
  await using receiver = openWebhookReceiver();
  assert.equal(await postFromProcess(receiver.url), "200 null\n");
});

/** Posts once from a process that has only network permission and does nothing else. */
async function postFromProcess(url: string) {
  const folder = await Deno.makeTempDir();
  const [program, certificate] = [`${folder}/post.ts`, `${folder}/certificate.pem`];
  await Deno.writeTextFile(certificate, TEST_CERTIFICATE);
  await Deno.writeTextFile(
    program,
    `import { createPoster } from "${import.meta.resolve("../../core/posting/post.ts")}";
    const poster = createPoster({ allowPrivate: true });
    const post = { url: "${url}", headers: {}, body: new Uint8Array() };
    const { status_code, error } = await poster.post(post);
    console.log(status_code, error);
    // Printed only if the process is kept running; idle connections are closed later than this.
    Deno.unrefTimer(setTimeout(() => console.log("still here"), 2_000));`,
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-prompt", "--no-lock", "--no-check", "--no-config"],
      ...["--allow-net", "--ignore-env", "--ignore-read", program],
    ],
    env: { NODE_EXTRA_CA_CERTS: certificate },
    stdout: "piped",
    stderr: "inherit",
  }).output();
  await Deno.remove(folder, { recursive: true });
  return new TextDecoder().decode(stdout);
}
