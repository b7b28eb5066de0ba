import { createRoute, z } from "@hono/zod-openapi";
import { Hono } from "hono";
import assert from "node:assert/strict";
import { createRouter } from "../../http/router.ts";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { serveApp } from "../support/events/event_stream.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

/** Routes for tests: one returns its JSON body, two throw, and one redirects. */
function createEchoResource() {
  const echo = createRouter();
  const body = z.object({
    name: z.string().max(5),
    items: z.array(z.object({ price: z.int() })).optional(),
  });
  echo.openapi(
    createRoute({
      method: "post",
      path: "/echo/{id}/",
      request: { body: { required: true, content: { "application/json": { schema: body } } } },
      responses: { 200: { description: "The request body" } },
    }),
    (c) => c.json(c.req.valid("json")),
  );
  echo.openapi(
    createRoute({
      method: "get",
      path: "/boom/",
      responses: { 200: { description: "Never sent" } },
    }),
    () => {
      throw new Error("the password is hunter2", { cause: new Error("deeper reason") });
    },
  );
  echo.openapi(
    createRoute({
      method: "get",
      path: "/string/",
      responses: { 200: { description: "Never sent" } },
    }),
    () => {
      throw "a string";
    },
  );
  echo.openapi(
    createRoute({
      method: "get",
      path: "/moved/",
      responses: { 302: { description: "A redirect" } },
    }),
    () => Response.redirect("http://localhost/me/"),
  );
  return echo;
}

async function openEcho(env: Record<string, string> = REAL_INSTALLATION) {
  const app = await openApp({ databaseUrl, env, resources: [createEchoResource()] });
  const key = await app.createKey();
  const post = (body: BodyInit | null, headers: Record<string, string> = {}, path = "/echo/1/") =>
    app.as(key, path, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/json", ...headers },
    });
  return { app, key, post, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

Deno.test("middleware: an unknown path gets 404, with or without a credential", async () => {
  await using echo = await openEcho();
  await assertProblem(await echo.app.request("/nope/"), 404, "not_found");
  await assertProblem(await echo.app.as(echo.key, "/nope/"), 404, "not_found");
});

Deno.test("middleware: an unsupported method gets 405 with the supported ones in Allow", async () => {
  await using echo = await openEcho();
  for (const path of ["/me/", "/me"]) {
    const response = await echo.app.request(path, { method: "PUT", body: "{}" });
    assert.equal(response.headers.get("allow"), "HEAD, GET");
    await assertProblem(response, 405, "method_not_allowed");
  }
  const response = await echo.app.request("/echo/7");
  assert.equal(response.headers.get("allow"), "POST");
  await assertProblem(response, 405, "method_not_allowed");
});

Deno.test("middleware: a path works with and without a trailing slash", async () => {
  await using echo = await openEcho();
  for (const path of ["/echo/1/", "/echo/1"]) {
    const response = await echo.post('{"name":"ada"}', {}, path);
    assert.deepEqual(await response.json(), { name: "ada" });
  }
});

Deno.test("middleware: HEAD has the status and headers of GET without a body", async () => {
  await using echo = await openEcho();
  const response = await echo.app.as(echo.key, "/me/", { method: "HEAD" });
  assert.equal(response.status, 200);
  assert.equal(await response.text(), "");
  assert.ok(response.headers.get("x-request-id"));
});

Deno.test("middleware: HEAD has the Content-Length of GET, or no Content-Length", async () => {
  await using echo = await openEcho();
  await using server = serveApp(echo.app);
  for (const path of ["/me/", "/nowhere/", "/reference/", "/openapi.json"]) {
    const lengths = await Promise.all(["HEAD", "GET"].map(async (method) => {
      const headers = { Authorization: `Bearer ${echo.key}`, "Accept-Encoding": "identity" };
      const response = await callService(server.url + path, { method, headers });
      await response.body?.cancel();
      return response.headers.get("content-length");
    }));
    assert.ok(lengths[0] === null || lengths[0] === lengths[1], `${path}: ${lengths}`);
  }
});

Deno.test("middleware: a body over 256 KiB gets 413, with or without Content-Length", async () => {
  await using echo = await openEcho();
  const large = JSON.stringify({ name: "x".repeat(256 * 1024) });
  await assertProblem(await echo.post(large), 413, "payload_too_large");
  const streamed = new Blob([large]).stream();
  await assertProblem(await echo.post(streamed), 413, "payload_too_large");
  const announced = await echo.post("{}", { "Content-Length": String(10 ** 12) });
  await assertProblem(announced, 413, "payload_too_large");
});

Deno.test("middleware: a body that is not declared as JSON gets 415", async () => {
  await using echo = await openEcho();
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]) {
    const response = await echo.post('{"name":"ada"}', { "Content-Type": type });
    await assertProblem(response, 415, "unsupported_media_type");
  }
  for (const type of ["application/vnd.x+json", "application/json; charset=utf-8"]) {
    assert.equal((await echo.post('{"name":"ada"}', { "Content-Type": type })).status, 200);
  }
  // Content types that a framework may fail to parse: never a 500.
  for (const type of ["application/json;", "application/json ; a=b", "application/vnd.x1+json"]) {
    const { status } = await echo.post('{"name":"ada"}', { "Content-Type": type });
    assert.ok(status === 200 || status === 415, `${type}: ${status}`);
  }
});

Deno.test("middleware: DELETE accepts a Content-Type without a body, and rejects a body as documented", async () => {
  await using app = await openApp({ databaseUrl });
  await using server = serveApp(app);
  const staff = await app.createKey({ isStaff: true });
  const remove = async (path: string, type: string, body?: string) =>
    await callService(server.url + path, {
      method: "DELETE",
      headers: { Authorization: `Bearer ${staff}`, "Content-Type": type },
      body,
    });
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"]) {
    const prefix = (await app.createKey({ userId: `user of ${type}` })).slice(0, 11);
    const response = await remove(`/keys/${prefix}/`, type);
    assert.equal(response.status, 204, await response.text());
  }
  const large = JSON.stringify({ name: "x".repeat(256 * 1024) });
  for (const path of ["/keys/gk_aaaaaaaa/", `/webhook-endpoints/${crypto.randomUUID()}/`]) {
    await assertProblem(await remove(path, "text/plain"), 404, "not_found");
    await assertProblem(await remove(path, "text/plain", "x"), 415, "unsupported_media_type");
    await assertProblem(await remove(path, "application/json", large), 413, "payload_too_large");
  }
});

Deno.test("middleware: a body that is not JSON gets malformed_json", async () => {
  await using echo = await openEcho();
  for (const body of ["{", "", "name=ada", "{'name': 'ada'}", "\u0000", "[".repeat(9_000)]) {
    await assertProblem(await echo.post(body), 400, "malformed_json");
  }
});

Deno.test("middleware: an incomplete body gets malformed_json, not 500", async () => {
  await using echo = await openEcho();
  const broken = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"name":'));
    },
    pull(controller) {
      controller.error(new Error("connection reset"));
    },
  });
  await assertProblem(await echo.post(broken), 400, "malformed_json");
  assert.deepEqual(echo.app.logged().map(({ event }) => event), ["request"]);
});

Deno.test("middleware: invalid input is reported for each field", async () => {
  await using echo = await openEcho();
  const response = await echo.post(JSON.stringify({ name: "toolong", items: [{ price: 1.5 }] }));
  const { errors, detail } = await assertProblem(response, 400, "validation_error");
  assert.deepEqual(errors?.map(({ field }) => field), ["name", "items.0.price"]);
  assert.match(detail ?? "", /items\.0\.price/);
  for (const body of ["null", "[]", "1", '"x"', "[".repeat(900) + "]".repeat(900)]) {
    const { errors } = await assertProblem(await echo.post(body), 400, "validation_error");
    assert.equal(errors?.[0]?.field, "body");
  }
  const withoutBody = await echo.app.as(echo.key, "/echo/1/", { method: "POST" });
  await assertProblem(withoutBody, 400, "validation_error");
});

Deno.test("middleware: an unexpected error is logged in full and hidden from the caller", async () => {
  await using echo = await openEcho();
  const response = await echo.app.as(echo.key, "/boom/");
  const problem = await assertProblem(response, 500, "internal_error");
  assert.equal(problem.detail, null);
  assert.doesNotMatch(JSON.stringify(problem), /hunter2|boom|stack/i);
  const line = echo.app.logged().find(({ event }) => event === "internal_error");
  assert.equal(line?.request_id, problem.instance);
  assert.match(JSON.stringify(line?.error), /hunter2.*middleware_test.*deeper reason/);
});

Deno.test("middleware: a thrown value that is not an Error becomes a problem document", async () => {
  await using echo = await openEcho();
  await assertProblem(await echo.app.as(echo.key, "/string/"), 500, "internal_error");
  assert.deepEqual(echo.app.logged().map(({ event }) => event), ["internal_error", "request"]);
});

Deno.test("middleware: a response with immutable headers also gets the headers that every response has", async () => {
  await using echo = await openEcho();
  const response = await echo.app.as(echo.key, "/moved/");
  assert.equal(response.status, 302);
  assert.ok(response.headers.get("x-request-id"));
});

Deno.test("middleware: at most 20 validation errors are reported", async () => {
  await using echo = await openEcho();
  const items = Array.from({ length: 2_000 }, () => ({ price: "x" }));
  const response = await echo.post(JSON.stringify({ name: "ada", items }));
  const { errors } = await assertProblem(response, 400, "validation_error");
  assert.equal(errors?.length, 20);
});

Deno.test("app: can be mounted in another Hono app", async () => {
  await using echo = await openEcho({ ...REAL_INSTALLATION, BASE_PATH: "/pay" });
  const outerApp = new Hono();
  outerApp.get("/", (c) => c.text("outer app"));
  outerApp.all("/pay/*", (c) => echo.app.fetch(c.req.raw));
  assert.equal(await (await outerApp.request("/")).text(), "outer app");
  const headers = { Authorization: `Bearer ${echo.key}` };
  assert.equal((await outerApp.request("/pay/me/", { headers })).status, 200);
  await assertProblem(await outerApp.request("/pay/me/"), 401, "unauthenticated");
});

Deno.test("middleware: every response has a request id: the caller's if it is valid, otherwise a new one", async () => {
  await using echo = await openEcho();
  const responseId = async (id: string) =>
    (await echo.app.request("/nope/", { headers: { "X-Request-Id": id } }))
      .headers.get("x-request-id");
  const validIds = [
    ...["7", "order-17:retry.2", "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5"],
    // UUIDs with as many digits in a row as a card number.
    ...["17823922-1349-4027-ae2b-afcd291aacc7", "b8703851-c144-40e5-9249-666471743193"],
  ];
  for (const validId of validIds) {
    assert.equal(await responseId(validId), validId);
  }
  const invalidIds = [
    ...["", "x".repeat(129), 'a"b"c"d"e', "a b c d e f", "<script>alert(1)</script>"],
    ...["4811111111111114", "4811-1111-1111-1114", "id-4811111111111114", echo.key],
  ];
  for (const id of invalidIds) {
    assert.match(await responseId(id) ?? "", /^[0-9a-f-]{36}$/, id);
  }
});

Deno.test("middleware: responses have no-store and security headers", async () => {
  await using echo = await openEcho();
  for (const path of ["/me/", "/nope/", "/boom/"]) {
    const { headers } = await echo.app.as(echo.key, path);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
  }
});

Deno.test("request log: has one line per request, without secrets, bodies or paths", async () => {
  await using echo = await openEcho();
  await echo.post('{"name":"card"}', { "X-Request-Id": "request-1" }, "/echo/4811111111111114/");
  const lines = echo.app.logged();
  assert.equal(lines.length, 1);
  const { time, duration_ms, ...rest } = lines[0]!;
  assert.ok(Date.parse(time as string) > 0 && (duration_ms as number) >= 0);
  assert.deepEqual(rest, {
    level: "info",
    event: "request",
    method: "POST",
    route: "/echo/:id/",
    status: 200,
    caller: "alice",
    request_id: "request-1",
  });
  await echo.app.request("/gk_secret_in_a_path/");
  const unmatched = echo.app.logged()[1]!;
  assert.equal(unmatched.route, null);
  assert.equal(unmatched.caller, null);
  assert.doesNotMatch(JSON.stringify(echo.app.logged()), /gk_|481111|"card"/);
});

Deno.test('request log: an unknown method is logged as "other"', async () => {
  await using echo = await openEcho();
  await assertProblem(
    await echo.app.request("/me/", { method: echo.key }),
    405,
    "method_not_allowed",
  );
  assert.equal(echo.app.logged()[0]!.method, "other");
});

Deno.test("request log: a user id with line breaks stays in one line", async () => {
  await using echo = await openEcho();
  const key = await echo.app.createKey({ userId: 'a"},\n{"level":"error' });
  await echo.app.as(key, "/me/");
  assert.equal(echo.app.logged()[0]!.caller, 'a"},\n{"level":"error');
});

Deno.test("app: BASE_PATH is the prefix of all routes and of the document's server", async () => {
  await using echo = await openEcho({ ...REAL_INSTALLATION, BASE_PATH: "/pay/v" });
  assert.equal((await echo.app.as(echo.key, "/pay/v/me/")).status, 200);
  assert.equal((await echo.app.request("/pay/v/health/live")).status, 200);
  assert.equal((await echo.app.request("/pay/v/openapi.json")).status, 200);
  const page = await (await echo.app.request("/pay/v/reference")).text();
  assert.match(page, /"\/pay\/v\/openapi\.json"/);
  for (const path of ["/me/", "/health/live/", "/openapi.json", "/reference", "/", "/pay"]) {
    await assertProblem(await echo.app.request(path), 404, "not_found");
  }
  assert.equal(echo.app.document().servers?.[0]?.url, "/pay/v");
  assert.ok(echo.app.document().paths?.["/me/"]);
});
