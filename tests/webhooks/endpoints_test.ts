import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { WebhookEndpointSchema } from "../../routes/webhook_endpoints/schemas.ts";
import { expectStatus, openWebhooks, type TestWebhooks } from "../support/events/webhooks.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { manualClock } from "../support/manual_clock.ts";
import { assertProblem } from "../support/problem.ts";

const UNKNOWN_ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";

/** Settings that allow public https URLs only. */
const STRICT = { env: { WEBHOOK_ALLOW_PRIVATE: "false" } };

/** All operations on endpoints in the OpenAPI document, with valid bodies. */
function operations({ app }: TestWebhooks) {
  return Object.entries(app.document().paths!).flatMap(([path, methods]) =>
    path.startsWith("/webhook-endpoints/")
      ? Object.keys(methods!).map((name) => {
        const method = name.toUpperCase();
        const hasBody = method === "PATCH" || method === "POST" && !path.includes("{");
        return { method, path, body: hasBody ? { url: "https://shop.example/" } : undefined };
      })
      : []
  );
}

async function rejectedFields(request: Promise<Response>): Promise<string> {
  const { errors } = await assertProblem(await request, 400, "validation_error");
  return errors!.map(({ field }) => field).join();
}

async function storedEndpoint({ app }: TestWebhooks, id: string): Promise<Json> {
  const [row] = await app.database.query((sql) =>
    sql`select * from gateway.webhook_endpoints where id = ${id}`
  );
  return row;
}

Deno.test("webhook endpoints: every operation is forbidden for users, whether or not the endpoint exists", async () => {
  await using webhooks = await openWebhooks();
  const { app, key, staff } = webhooks;
  const { id } = await webhooks.endpoint();
  const allOperations = operations(webhooks);
  assert.equal(allOperations.length, 9);
  for (const { method, path, body } of allOperations) {
    for (const endpoint of [id, UNKNOWN_ID]) {
      const init = {
        method,
        ...body && {
          body: JSON.stringify(body),
          headers: { "Content-Type": "application/json" },
        },
      };
      const resourcePath = path.replace("{pk}", endpoint).replace("{delivery_id}", UNKNOWN_ID);
      await assertProblem(await app.request(resourcePath, init), 401, "unauthenticated");
      await assertProblem(await app.as(key, resourcePath, init), 403, "forbidden");
      if (endpoint === UNKNOWN_ID && path.includes("{pk}")) {
        await assertProblem(await app.as(staff, resourcePath, init), 404, "not_found");
      }
    }
  }
  const { url } = await webhooks.readEndpoint(id);
  assert.equal(url, webhooks.receiver.url, "the endpoint is unchanged");
  assert.equal(webhooks.receiver.received.length, 0);
});

Deno.test("webhook endpoints: can be created, read, listed, updated and deleted", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const response = await webhooks.requestAsStaff("POST", "/webhook-endpoints/", {
    url: "https://shop.example/hooks?a=1",
    event_names: ["payment_settled", "payment_refunded", "payment_settled"],
    description: "The shop",
  });
  const location = response.headers.get("Location");
  assert.equal(response.headers.get("Cache-Control"), "no-store");
  const { secret, ...created } = await expectStatus(Promise.resolve(response), 201) as Json;
  assert.equal(location, `/webhook-endpoints/${created.id}/`);
  const now = new Date(clock.now()).toISOString();
  assert.deepEqual(WebhookEndpointSchema.strict().parse(created), {
    id: created.id,
    url: "https://shop.example/hooks?a=1",
    event_names: ["payment_settled", "payment_refunded"],
    description: "The shop",
    enabled: true,
    disabled_reason: null,
    failing_since: null,
    previous_secret_until: null,
    created_at: now,
    updated_at: now,
  });
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(await webhooks.readEndpoint(created.id), created);
  const otherEndpoint = await webhooks.endpoint();
  assert.notEqual(otherEndpoint.secret, secret);
  const list = await expectStatus(
    webhooks.requestAsStaff("GET", "/webhook-endpoints/"),
    200,
  ) as Json;
  assert.deepEqual(list.map(({ id }: Json) => id), [otherEndpoint.id, created.id]);
  assert.deepEqual(list[1], created);

  clock.advance(1_000);
  const changed = await webhooks.change(created.id, { description: "Another", enabled: false });
  assert.deepEqual(changed, {
    ...created,
    description: "Another",
    enabled: false,
    disabled_reason: "requested",
    updated_at: new Date(clock.now()).toISOString(),
  });
  assert.deepEqual(await webhooks.readEndpoint(created.id), changed);

  const path = `/webhook-endpoints/${created.id}/`;
  assert.equal(await expectStatus(webhooks.requestAsStaff("DELETE", path), 204), null);
  for (const method of ["GET", "DELETE"]) {
    await assertProblem(await webhooks.requestAsStaff(method, path), 404, "not_found");
  }
  await assertProblem(
    await webhooks.requestAsStaff("PATCH", path, { enabled: true }),
    404,
    "not_found",
  );
  for (const action of ["test", "rotate-secret"]) {
    await assertProblem(
      await webhooks.requestAsStaff("POST", `${path}${action}/`),
      404,
      "not_found",
    );
  }
  await assertProblem(await webhooks.requestAsStaff("GET", `${path}deliveries/`), 404, "not_found");
  const remaining = await expectStatus(
    webhooks.requestAsStaff("GET", "/webhook-endpoints/"),
    200,
  ) as Json;
  assert.deepEqual(remaining.map(({ id }: Json) => id), [otherEndpoint.id]);
});

Deno.test("webhook endpoints: pages of endpoints and deliveries contain each item once", async () => {
  await using webhooks = await openWebhooks();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift((await webhooks.endpoint()).id);
  await Promise.all(Array.from({ length: 5 }, () => webhooks.charge()));
  const deliveries = (await webhooks.deliveries(ids[0]!)).map(({ id }) => id);
  assert.equal(deliveries.length, 5);
  assert.deepEqual(deliveries, deliveries.toSorted().reverse());

  const pages = async (path: string) => {
    const found: string[][] = [];
    for (let next: string | undefined = path; next;) {
      const response = await webhooks.requestAsStaff("GET", next);
      const link: string | null = response.headers.get("Link");
      const page = await expectStatus(Promise.resolve(response), 200) as { id: string }[];
      found.push(page.map(({ id }) => id));
      next = link?.match(/^<([^>]+)>; rel="next"$/)?.[1];
    }
    return found;
  };
  const splitIntoPages = (all: string[]) => [all.slice(0, 2), all.slice(2, 4), all.slice(4)];
  assert.deepEqual(await pages("/webhook-endpoints/?limit=2"), splitIntoPages(ids));
  const path = `/webhook-endpoints/${ids[0]}/deliveries/?limit=2`;
  assert.deepEqual(await pages(path), splitIntoPages(deliveries));
  assert.deepEqual(await pages(`${path}&status=pending`), splitIntoPages(deliveries));
  assert.deepEqual(await pages(`${path}&status=delivered`), [[]]);
  for (const query of ["limit=0", "limit=101", "limit=x", "cursor=x"]) {
    await rejectedFields(webhooks.requestAsStaff("GET", `/webhook-endpoints/?${query}`));
    await rejectedFields(
      webhooks.requestAsStaff("GET", `/webhook-endpoints/${ids[0]}/deliveries/?${query}`),
    );
  }
  assert.equal(
    await rejectedFields(
      webhooks.requestAsStaff("GET", `/webhook-endpoints/${ids[0]}/deliveries/?status=sent`),
    ),
    "status",
  );
});

Deno.test("webhook endpoints: Link of a list of deliveries includes BASE_PATH", async () => {
  await using webhooks = await openWebhooks({ env: { BASE_PATH: "/pay" } });
  const endpoint = { url: webhooks.receiver.url };
  const { id } = await expectStatus(
    webhooks.requestAsStaff("POST", "/pay/webhook-endpoints/", endpoint),
    201,
  ) as Json;
  const charge = { payment_type: "qris", gross_amount: 44_000 };
  for (let i = 0; i < 2; i++) await expectStatus(webhooks.post("/pay/charge/", charge), 201);
  await webhooks.app.publishEvents();
  const path = `/pay/webhook-endpoints/${id}/deliveries/`;
  const response = await webhooks.requestAsStaff("GET", `${path}?limit=1`);
  assert.match(response.headers.get("Link")!, new RegExp(`^<${path}[?]`));
});

Deno.test("webhook secret: is returned only when it is created, and no row or log contains it unencrypted", async () => {
  await using webhooks = await openWebhooks();
  const { id, secret } = await webhooks.endpoint();
  const path = `/webhook-endpoints/${id}/`;
  const rotated = await webhooks.requestAsStaff("POST", `${path}rotate-secret/`);
  assert.equal(rotated.headers.get("Cache-Control"), "no-store");
  const { secret: newSecret, ...shown } = await expectStatus(Promise.resolve(rotated), 200) as Json;
  assert.notEqual(newSecret, secret);
  assert.deepEqual(WebhookEndpointSchema.strict().parse(shown), await webhooks.readEndpoint(id));
  await webhooks.charge();
  webhooks.receiver.answer({ status: 410 });
  await webhooks.deliver();

  const responses = await Promise.all([
    webhooks.requestAsStaff("GET", path),
    webhooks.requestAsStaff("PATCH", path, { description: "x" }),
    webhooks.requestAsStaff("GET", "/webhook-endpoints/"),
    webhooks.requestAsStaff("GET", `${path}deliveries/`),
    webhooks.requestAsStaff("POST", `${path}test/`),
    webhooks.requestAsStaff("GET", "/events/"),
    webhooks.requestAsStaff("GET", "/jobs/"),
  ].map(async (request) => (await request).text()));
  const rows = await webhooks.app.database.query((sql) =>
    sql`
      select array(select to_json(r)::text from gateway.webhook_endpoints r) as endpoints,
        array(select to_json(r)::text from gateway.webhook_deliveries r) as deliveries,
        array(select to_json(r)::text from gateway.events r) as events,
        array(select to_json(r)::text from gateway.jobs r) as jobs`
  );
  const everything = [
    ...responses,
    JSON.stringify(rows),
    JSON.stringify(webhooks.app.logged()),
    ...webhooks.receiver.received.map(({ body }) => new TextDecoder().decode(body)),
  ].join("\n");
  assert.ok(everything.includes("webhook_endpoint_disabled"));
  for (const each of [secret, newSecret]) {
    const encodedKey = each.replace("whsec_", "");
    const hex = Uint8Array.fromBase64(encodedKey).toHex();
    for (
      const form of [
        encodedKey,
        encodedKey.slice(0, 20),
        hex,
        JSON.stringify(encodedKey).slice(1, -1),
      ]
    ) {
      assert.ok(!everything.includes(form), form);
    }
  }
  const row = await storedEndpoint(webhooks, id);
  assert.notEqual(row.secret, row.previous_secret);
});

Deno.test("webhook secret: cannot be decrypted in the row of another endpoint", async () => {
  await using webhooks = await openWebhooks();
  const { id } = await webhooks.endpoint();
  const otherEndpoint = await webhooks.endpoint();
  await webhooks.app.database.query((sql) =>
    sql`update gateway.webhook_endpoints set secret = (
      select secret from gateway.webhook_endpoints where id = ${otherEndpoint.id}) where id = ${id}`
  );
  const result = await expectStatus(
    webhooks.requestAsStaff("POST", `/webhook-endpoints/${id}/test/`),
    200,
  ) as Json;
  assert.equal(result.succeeded, false);
  assert.match(result.error, /secret/);
  assert.equal(webhooks.receiver.received.length, 0);
});

Deno.test("webhook endpoints: an invalid field is reported by name, and nothing is stored", async () => {
  await using webhooks = await openWebhooks();
  const { id } = await webhooks.endpoint();
  const before = await webhooks.readEndpoint(id);
  const url = "https://shop.example/";
  const invalidInputs: [Json, string][] = [
    [{ url: "" }, "url"],
    [{ url: 7 }, "url"],
    [{ url: ["https://shop.example/"] }, "url"],
    [{ url: "shop.example" }, "url"],
    [{ url: "/webhooks" }, "url"],
    [{ url: `https://shop.example/${"a".repeat(2_000)}` }, "url"],
    [{ url: "https://shop.example/\u0000" }, "url"],
    [{ url, event_names: [] }, "event_names"],
    [{ url, event_names: "payment_settled" }, "event_names"],
    [{ url, event_names: {} }, "event_names"],
    [{ url, event_names: ["payment_settled", "payment_exploded"] }, "event_names.1"],
    [{ url, event_names: ["PAYMENT_SETTLED"] }, "event_names.0"],
    [{ url, event_names: ["webhook_endpoint_tested"] }, "event_names.0"],
    [{ url, event_names: ["*"] }, "event_names.0"],
    [{ url, event_names: [null] }, "event_names.0"],
    [{ url, description: "d".repeat(501) }, "description"],
    [{ url, description: 1 }, "description"],
    [{ url, enabled: "true" }, "enabled"],
    [{ url, enabled: 1 }, "enabled"],
  ];
  for (const [input, field] of invalidInputs) {
    assert.equal(
      await rejectedFields(webhooks.requestAsStaff("POST", "/webhook-endpoints/", input)),
      field,
    );
    assert.equal(
      await rejectedFields(webhooks.requestAsStaff("PATCH", `/webhook-endpoints/${id}/`, input)),
      field,
    );
  }
  assert.equal(
    await rejectedFields(webhooks.requestAsStaff("POST", "/webhook-endpoints/", {})),
    "url",
  );
  assert.equal(
    await rejectedFields(webhooks.requestAsStaff("POST", "/webhook-endpoints/", { url: null })),
    "url",
  );
  for (const [method, path] of [["POST", ""], ["PATCH", `${id}/`]] as const) {
    for (const body of [[], "text", null, 1]) {
      await assertProblem(
        await webhooks.requestAsStaff(method, `/webhook-endpoints/${path}`, body),
        400,
        "validation_error",
      );
    }
  }
  assert.deepEqual(await webhooks.readEndpoint(id), before);
  const list = await expectStatus(
    webhooks.requestAsStaff("GET", "/webhook-endpoints/"),
    200,
  ) as Json;
  assert.equal(list.length, 1);
});

Deno.test("webhook endpoints: null means the default at creation; an update accepts null only for event_names and description", async () => {
  await using webhooks = await openWebhooks();
  const created = await webhooks.endpoint({ event_names: null, description: null, enabled: null });
  assert.deepEqual([created.event_names, created.description, created.enabled], [null, null, true]);
  const { id } = created;
  const named = await webhooks.change(id, { event_names: ["invoice_paid"], description: "Ours" });
  assert.deepEqual([named.event_names, named.description], [["invoice_paid"], "Ours"]);
  for (const field of ["id", "secret"]) {
    const change = webhooks.requestAsStaff("PATCH", `/webhook-endpoints/${id}/`, { [field]: "x" });
    assert.equal(await rejectedFields(change), field);
  }
  const bare = await webhooks.change(id, { event_names: null, description: null });
  assert.deepEqual([bare.event_names, bare.description, bare.url], [null, null, created.url]);
  for (const field of ["url", "enabled"]) {
    const path = `/webhook-endpoints/${id}/`;
    assert.equal(
      await rejectedFields(webhooks.requestAsStaff("PATCH", path, { [field]: null })),
      field,
    );
  }
});

Deno.test("webhook endpoints: every route responds with 404 to an unknown or malformed id", async () => {
  await using webhooks = await openWebhooks();
  const { id } = await webhooks.endpoint();
  for (const { method, path, body } of operations(webhooks)) {
    if (!path.includes("{pk}")) continue;
    for (const wrongId of ["1", `${id}'--`, randomUUID(), "%00", `${id}0`]) {
      const resourcePath = path.replace("{pk}", wrongId).replace("{delivery_id}", UNKNOWN_ID);
      await assertProblem(
        await webhooks.requestAsStaff(method, resourcePath, body),
        404,
        "not_found",
      );
    }
  }
  for (const wrongId of ["1", "latest", UNKNOWN_ID]) {
    const resourcePath = `/webhook-endpoints/${id}/deliveries/${wrongId}/resend/`;
    await assertProblem(await webhooks.requestAsStaff("POST", resourcePath), 404, "not_found");
  }
});

/** Invalid URLs, many in notations that an incomplete check would accept. */
const REFUSED = [
  ...["http://shop.example/", "ftp://shop.example/", "file:///etc/passwd", "javascript:alert(1)"],
  ...["ws://shop.example/", "gopher://shop.example/", "data:text/plain,x", "//shop.example/"],
  ...["https://user@shop.example/", "https://user:word@shop.example/", "https://:word@8.8.8.8/"],
  ...["https://shop.example/#part", "https://shop.example:0/", "https://", "https://?"],
  ...["https://localhost/", "https://LOCALHOST./", "https://a.localhost/", "https://loc%61lhost/"],
  ...["https://127.0.0.1/", "https://127.1/", "https://127.0.1/", "https://2130706433/"],
  ...["https://0x7f000001/", "https://0x7f.0.0.1/", "https://0177.0.0.1/", "https://017700000001/"],
  ...["https://①②⑦.0.0.1/", "https://127。0。0。1/", "https://127.0.0.1./", "https://%31%32%37.1/"],
  ...["https://0/", "https://0.0.0.0/", "https://10.0.0.1/", "https://172.16.0.1/"],
  ...["https://192.168.1.1/", "https://0xc0a80101/", "https://3232235777/", "https://100.64.0.1/"],
  ...["https://169.254.169.254/latest/meta-data/", "https://2852039166/", "https://0xa9fea9fe/"],
  ...["https://0251.0376.0251.0376/", "https://224.0.0.1/", "https://255.255.255.255/"],
  ...[
    "https://[::1]/",
    "https://[::]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
  ],
  ...["https://[::ffff:7f00:1]/", "https://[::ffff:a9fe:a9fe]/", "https://[::127.0.0.1]/"],
  ...["https://[fe80::1]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/", "https://[ff02::1]/"],
  ...["https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://[fe80::1%25eth0]/"],
];

Deno.test("webhook endpoints: reject private addresses and http in every notation", async () => {
  await using webhooks = await openWebhooks(STRICT);
  const { id } = await webhooks.endpoint({ url: "https://8.8.8.8/hooks" });
  for (const url of REFUSED) {
    for (const [method, path] of [["POST", ""], ["PATCH", `${id}/`]] as const) {
      const request = webhooks.requestAsStaff(method, `/webhook-endpoints/${path}`, { url });
      assert.equal(await rejectedFields(request), "url", url);
    }
  }
  const { url } = await webhooks.readEndpoint(id);
  assert.equal(url, "https://8.8.8.8/hooks");
});

Deno.test("webhook endpoints: reject credentials and schemes other than http and https even if private networks are allowed", async () => {
  await using webhooks = await openWebhooks();
  for (const url of ["http://127.0.0.1:9/", "http://localhost/", "https://10.0.0.1/a"]) {
    assert.equal((await webhooks.endpoint({ url })).url, url);
  }
  const rejectedUrls = [
    "ftp://127.0.0.1/",
    "file:///etc/passwd",
    "http://u:p@127.0.0.1/",
    "http://a/#b",
  ];
  for (const url of rejectedUrls) {
    assert.equal(
      await rejectedFields(webhooks.requestAsStaff("POST", "/webhook-endpoints/", { url })),
      "url",
      url,
    );
  }
});

Deno.test("webhook endpoints: a private endpoint gets nothing after private networks are disallowed", async () => {
  await using webhooks = await openWebhooks({ posting: { allowPrivate: false } });
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge();
  await webhooks.deliver();
  assert.equal(webhooks.receiver.received.length, 0);
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received pending 1",
  ]);
  const [{ error, status_code }] = await webhooks.deliveries(id) as [Json];
  assert.match(error, /https/);
  assert.equal(status_code, null);
});
