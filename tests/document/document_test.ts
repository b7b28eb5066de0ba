import assert from "node:assert/strict";
import { join } from "node:path";
import { generateApiKey } from "../../core/secrets/api_key.ts";
import { PAYMENT_TYPES } from "../../core/payments/payment_types.ts";
import { EVENT_NAMES } from "../../core/events/names.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { assertProblem } from "../support/problem.ts";
import { copyProject, createDataFolder } from "../support/project.ts";
import { runTask } from "../support/service.ts";
import { isPartial } from "../support/share.ts";

const databaseUrl = await createDatabase();

/** The only operations that need no credential. */
const OPEN_ROUTES = ["GET /health/live/", "GET /health/ready/", "POST /notification/"];

/** An operation id is a verb and a noun. */
const OPERATION_ID = new RegExp(
  "^(get|list|create|update|change|delete|check|cancel|expire|refund|capture|approve|deny|void|receive|replay|" +
    "stream|export|test|rotate|resend|retry|resolve|reopen|take|mark)[A-Z]\\w+$",
);

interface Operation {
  operationId?: string;
  tags?: string[];
  security?: unknown[];
  requestBody?: unknown;
  responses: Record<string, unknown>;
}

function operations(document: { paths?: unknown }) {
  const paths = document.paths as Record<string, Record<string, Operation>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      // Any value works for a path parameter, because the credential is checked first.
      path: path.replaceAll(/\{\w+\}/g, "00000000-0000-7000-8000-000000000000"),
      operation,
    }))
  );
}

Deno.test("document: every route except the open ones responds 401 without a key and with a wrong one", async () => {
  await using app = await openApp({ databaseUrl });
  const allOperations = operations(app.document());
  assert.ok(allOperations.length > OPEN_ROUTES.length);
  for (const { name, method, path, operation } of allOperations) {
    const isOpen = OPEN_ROUTES.includes(name);
    assert.equal(
      operation.security?.length === 0,
      isOpen,
      `${name}: the document declares whether it needs a credential`,
    );
    const body = method === "GET" ? undefined : "{}";
    for (const key of [null, generateApiKey()]) {
      const headers = new Headers({ "Content-Type": "application/json" });
      if (key) headers.set("Authorization", `Bearer ${key}`);
      const response = await app.request(path, { method, body, headers });
      if (isOpen) {
        // The body may be rejected, but not the credential.
        assert.equal(response.status, method === "GET" ? 200 : 400, name);
        continue;
      }
      assert.ok(operation.responses["401"], `${name}: the document declares 401`);
      await assertProblem(response, 401, "unauthenticated");
    }
  }
});

Deno.test("document: each operation has a unique id and one tag, and its path ends in a slash", async () => {
  await using app = await openApp({ databaseUrl });
  const allOperations = operations(app.document());
  const ids = allOperations.map(({ operation }) => operation.operationId);
  assert.equal(new Set(ids).size, allOperations.length);
  for (const { name, path, operation } of allOperations) {
    assert.match(operation.operationId ?? "", OPERATION_ID, name);
    assert.ok(operation.tags?.length === 1, name);
    assert.ok(path.endsWith("/"), name);
  }
});

Deno.test("document: declares each event as a webhook with its headers and data", async () => {
  await using app = await openApp({ databaseUrl });
  const { webhooks, components } = JSON.parse(JSON.stringify(app.document()));
  const { gateway_notification, ...events } = webhooks;
  assert.ok(gateway_notification);
  assert.deepEqual(Object.keys(events), [...EVENT_NAMES, "webhook_endpoint_tested"]);
  for (const [name, { post }] of Object.entries<Json>(events)) {
    const { $ref } = post.requestBody.content["application/json"].schema;
    const { name: nameSchema, data } = components.schemas[$ref.split("/").at(-1)].properties;
    assert.ok(nameSchema.enum.includes(name), `${$ref} can be ${name}`);
    const dataSchema = components.schemas[data.$ref.split("/").at(-1)];
    assert.match(JSON.stringify(dataSchema), /"notification_id"/, name);
    assert.deepEqual(post.parameters.map(({ in: place, name }: Json) => `${place} ${name}`), [
      "header webhook-id",
      "header webhook-timestamp",
      "header webhook-signature",
    ]);
    assert.deepEqual(post.security, []);
  }
});

Deno.test("document: has an example of a charge for each payment type", async () => {
  await using app = await openApp({ databaseUrl });
  const { paths, components }: Json = JSON.parse(JSON.stringify(app.document()));
  const { examples } = paths["/charge/"].post.requestBody.content["application/json"];
  const shownTypes = Object.values<Json>(examples).map((each) =>
    (each.$ref ? components.examples[each.$ref.split("/").at(-1)] : each).value.payment_type
  );
  const { mapping } = components.schemas.ChargeRequest.discriminator;
  assert.deepEqual(new Set(shownTypes), new Set(Object.keys(mapping)));
  assert.deepEqual(new Set(shownTypes), new Set(PAYMENT_TYPES));
});

Deno.test("document: has license, contact, server, security scheme and the introduction", async () => {
  await using app = await openApp({ databaseUrl });
  const { info, servers, components, security }: Json = JSON.parse(JSON.stringify(app.document()));
  assert.ok(info.contact.name && servers[0].url && servers[0].description);
  assert.deepEqual(info.license, { name: "MIT", identifier: "MIT" });
  assert.deepEqual(security, [{ bearer: [] }]);
  assert.equal(components.securitySchemes.bearer.scheme, "bearer");
  for (
    const name of ["Payment", "PaymentSummary", "ChargeRequest", "BankTransferCharge", "Event"]
  ) {
    assert.ok(components.schemas[name], name);
  }
  for (
    const title of ["Authentication", "Idempotency", "Errors", "Pagination", "Amounts and times"]
  ) {
    assert.match(info.description, new RegExp(`^## ${title}$`, "m"));
  }
  assert.match(info.description, /^## Asynchronous requests$.*^## Events and webhooks$/ms);
});

Deno.test("document: components are sorted by name", async () => {
  await using app = await openApp({ databaseUrl });
  const names = Object.keys(app.document().components?.schemas ?? {});
  assert.deepEqual(names, names.toSorted());
});

Deno.test("document: every list in a request has a maximum length", async () => {
  await using app = await openApp({ databaseUrl });
  const schemas: Record<string, unknown> = app.document().components?.schemas ?? {};
  let count = 0;
  const check = (value: unknown, where: string, seen: string[] = []) => {
    if (typeof value !== "object" || value === null) return;
    if ("$ref" in value && typeof value.$ref === "string" && !seen.includes(value.$ref)) {
      const name = value.$ref.split("/").at(-1)!;
      assert.ok(schemas[name], name);
      check(schemas[name], `${where} ${name}`, [...seen, value.$ref]);
    }
    if ("type" in value && value.type === "array") {
      count++;
      assert.ok("maxItems" in value && value.maxItems, `${where} has no maxItems`);
    }
    for (const [name, part] of Object.entries(value)) {
      if (name !== "examples") check(part, `${where} ${name}`, seen);
    }
  };
  for (const { name, operation } of operations(app.document())) check(operation.requestBody, name);
  assert.ok(count > 0);
});

Deno.test("document: a request that the server cannot parse gets 400 without a body, as declared for the health routes", async () => {
  await using app = await openApp({ databaseUrl });
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using server = Deno.serve(options, (request) => app.fetch(request));
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  const manyHeaders = Array.from({ length: 300 }, (_, number) => `X-${number}: a\r\n`).join("");
  await connection.write(
    new TextEncoder().encode(`GET /health/live/ HTTP/1.1\r\nHost: x\r\n${manyHeaders}\r\n`),
  );
  const answer = await new Response(connection.readable).text();
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.ok(answer.endsWith("\r\n\r\n") && !/x-request-id/i.test(answer), answer);
  const { paths, components } = JSON.parse(JSON.stringify(app.document()));
  for (const path of ["/health/live/", "/health/ready/"]) {
    const { $ref } = paths[path].get.responses[400];
    const declared = components.responses[$ref.split("/").at(-1)];
    assert.deepEqual(Object.keys(declared), ["description"]);
  }
});

Deno.test("document: is served as OpenAPI 3.1 without a credential", async () => {
  await using app = await openApp({ databaseUrl });
  const response = await app.request("/openapi.json");
  assert.equal(response.headers.get("content-type"), "application/json");
  const served = await response.json();
  assert.deepEqual(served, JSON.parse(JSON.stringify(app.document())));
  assert.match(served.openapi, /^3\.1\./);
  assert.equal(served.info.version, "1.0.0");
});

Deno.test("document: is built once and does not change afterwards", async () => {
  await using app = await openApp({ databaseUrl });
  const firstText = await (await app.request("/openapi.json")).text();
  app.document().info.title = "changed";
  app.document().paths = {};
  assert.equal(await (await app.request("/openapi.json")).text(), firstText);
});

Deno.test("document: `deno task openapi` writes the same file with any settings", {
  ignore: isPartial,
}, async () => {
  await using folder = await createDataFolder();
  await copyProject(folder.path);
  const path = join(folder.path, "openapi/openapi.json");
  await Deno.writeTextFile(path, "{}");
  const { code, stderr } = await runTask(["openapi"], { BASE_PATH: "/pay" }, folder.path);
  assert.equal(code, 0, stderr);
  const written = await Deno.readTextFile(new URL("../../openapi/openapi.json", import.meta.url));
  assert.equal(await Deno.readTextFile(path), written);
});

Deno.test("document: openapi/openapi.json is up to date; if not, run `deno task openapi`", async () => {
  await using app = await openApp({ databaseUrl });
  const written = await Deno.readTextFile(new URL("../../openapi/openapi.json", import.meta.url));
  assert.deepEqual(JSON.parse(written), JSON.parse(JSON.stringify(app.document())));
});
