import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import * as errors from "../../core/gateway/errors.ts";
import { fc } from "../support/fast_check.ts";
import {
  clientFor,
  openFakeGateway,
  openRawServer,
  sendBytes,
} from "../support/gateway/gateway.ts";

/** The error of a write with this response. Asserts that a read fails with the same error class. */
async function writeErrorOf(respond: () => Response) {
  await using fake = openFakeGateway(respond);
  const gateway = clientFor(fake.url);
  const [write, read] = await Promise.all([
    gateway.cancel("order-101").then(() => null, (error: errors.GatewayError) => error),
    gateway.getStatus("order-101").then(() => null, (error: errors.GatewayError) => error),
  ]);
  assert.equal(write?.name, read?.name);
  if (read) assert.equal(read.outcome, "refused", "a read changes nothing");
  return write;
}

const KINDS = {
  400: "GatewayValidationError",
  401: "GatewayAuthenticationError",
  402: "GatewayAPIError",
  403: "GatewaySignatureError",
  404: "GatewayAPIError",
  406: "GatewayDuplicateOrderError",
  411: "GatewayAPIError",
  412: "GatewayAPIError",
  429: "GatewayRateLimitError",
} as const;

for (const [code, name] of Object.entries(KINDS)) {
  Deno.test(`error: ${code} is a ${name} with the outcome refused`, async () => {
    const body = { status_code: code, status_message: "No, thank you.", id: "some-id" };
    // The code is in the body with HTTP 200 (as a string, then as a number), in the body and the
    // HTTP status, or only in the HTTP status.
    for (
      const respond of [
        () => Response.json(body),
        () => Response.json({ ...body, status_code: Number(code) }),
        () => Response.json(body, { status: Number(code) }),
        () => Response.json({ status_message: "No, thank you." }, { status: Number(code) }),
      ]
    ) {
      const error = await writeErrorOf(respond);
      assert.ok(error instanceof errors[name]);
      assert.equal(Object.getPrototypeOf(errors[name]), errors.GatewayError);
      assert.equal(error.name, name);
      assert.equal(error.message, "No, thank you.");
      assert.equal(error.statusCode, code);
      assert.equal(error.failure, "answered");
      assert.equal(error.outcome, "refused");
      assert.equal(error.data?.status_message, "No, thank you.");
    }
  });
}

Deno.test("error: the body code takes precedence over the HTTP status", async () => {
  assert.equal(
    await writeErrorOf(() => Response.json({ status_code: "200" }, { status: 500 })),
    null,
  );
  const error = await writeErrorOf(() => Response.json({ status_code: "406" }, { status: 401 }));
  assert.ok(error instanceof errors.GatewayDuplicateOrderError);
});

Deno.test("error: the HTTP status counts if the body code is invalid", async () => {
  for (const status_code of ["", "abc", "20", "2000", null, {}, ["200"], true, 2.5]) {
    assert.equal(await writeErrorOf(() => Response.json({ status_code })), null);
    const error = await writeErrorOf(() => Response.json({ status_code }, { status: 401 }));
    assert.ok(error instanceof errors.GatewayAuthenticationError);
  }
});

Deno.test("error: 2xx and a body code of 407 are results, HTTP 407 is an error", async () => {
  for (const status_code of ["200", "201", "202", "204", "407", 407]) {
    assert.equal(await writeErrorOf(() => Response.json({ status_code })), null);
  }
  const error = await writeErrorOf(() => Response.json({}, { status: 407 }));
  assert.equal(error?.name, "GatewayAPIError");
});

Deno.test("error: 5xx in body or HTTP status leaves the outcome of a write unknown", async () => {
  const message = "Sorry. Our system is recovering from unexpected issues. Please retry.";
  for (
    const respond of [
      () => Response.json({ status_code: "500", status_message: message }),
      () => Response.json({ status_message: message }, { status: 500 }),
    ]
  ) {
    const error = await writeErrorOf(respond);
    assert.ok(error instanceof errors.GatewayAPIError);
    assert.equal(error.statusCode, "500");
    assert.equal(error.message, message);
    assert.equal(error.outcome, "unknown");
  }
});

Deno.test("error: if the gateway's proxy rejects a write with 401, 403, 404, 413 or 429, the outcome is refused", async () => {
  for (const status of [401, 403, 404, 413, 429, 500, 502]) {
    const error = await writeErrorOf(() => Response.json({ message: "No." }, { status }));
    assert.equal(error?.outcome, status < 500 ? "refused" : "unknown", String(status));
  }
});

Deno.test("error: HTTP 408 or 499 of a proxy leaves the outcome of a write unknown, 408 in the body does not", async () => {
  for (const status of [408, 499]) {
    const error = await writeErrorOf(() => new Response("Timeout", { status }));
    assert.equal(error?.outcome, "unknown");
  }
  const inBody = await writeErrorOf(() => Response.json({ status_code: "408" }));
  assert.equal(inBody?.outcome, "refused");
});

const UNUSABLE_BODIES: Record<string, string> = {
  "an empty body": "",
  "text": "Unauthorized",
  "an HTML page": "<!doctype html><title>502 Bad Gateway</title>",
  "broken JSON": '{"status_code":"200",',
  "a list": '[{"status_code":"200"}]',
  "a string": '"200"',
  "null": "null",
  "a body above the size limit": " ".repeat(262_145) + '{"status_code":"200"}',
};

for (const [what, body] of Object.entries(UNUSABLE_BODIES)) {
  Deno.test(`error: ${what} is not a result, and leaves the outcome of a write unknown`, async () => {
    for (const status of [200, 201, 202, 404, 502]) {
      const error = await writeErrorOf(() => new Response(body, { status }));
      assert.equal(error?.name, "GatewayAPIError");
      assert.equal(error?.statusCode, String(status));
      assert.equal(error?.data, null);
      assert.equal(error?.outcome, "unknown");
    }
    const unauthorized = await writeErrorOf(() => new Response(body, { status: 401 }));
    assert.ok(unauthorized instanceof errors.GatewayAuthenticationError);
    assert.equal(unauthorized.outcome, "unknown");
  });
}

Deno.test("error: a 4xx in a form that neither the gateway nor its proxy uses leaves the outcome of a write unknown", async () => {
  for (const status of [400, 401, 403, 404, 406, 429]) {
    const error = await writeErrorOf(() => Response.json({ error: "Forbidden" }, { status }));
    assert.equal(error?.outcome, "unknown", String(status));
  }
  const conflict = await writeErrorOf(() => Response.json({ message: "No." }, { status: 406 }));
  assert.equal(conflict?.outcome, "unknown");
});

Deno.test("error: a body of exactly the size limit is read, with and without a Content-Length", async () => {
  const body = '{"status_code":"200"}'.padEnd(262_144);
  assert.equal(await writeErrorOf(() => new Response(body)), null);
  assert.equal(await writeErrorOf(() => new Response(chunked(body))), null);
});

Deno.test("error: the size limit also applies to a body that is chunked or compressed", async () => {
  const body = '{"status_code":"200"}'.padEnd(262_145);
  const headers = { "Content-Encoding": "gzip" };
  const compressed = new Uint8Array(gzipSync(body));
  const responses = [
    () => new Response(chunked(body)),
    () => new Response(compressed, { headers }),
    () => new Response(chunked(compressed), { headers }),
  ];
  for (const respond of responses) {
    const error = await writeErrorOf(respond);
    assert.equal(error?.outcome, "unknown");
    assert.match(error.message, /not JSON/);
  }
  const small = new Uint8Array(gzipSync('{"status_code":"200"}'));
  assert.equal(await writeErrorOf(() => new Response(small, { headers })), null);
});

function chunked(body: string | Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Blob([body]).stream();
}

Deno.test("error: has the messages of the fields validation_messages, error_messages and errors", async () => {
  const cases = [
    { status_code: "400", validation_messages: ["amount is required", 7, null, "name is, too"] },
    { error_messages: ["amount is required", "name is, too"] },
    {
      errors: [{ message_title: "No", message: "amount is required" }, { message: "name is, too" }],
    },
  ];
  for (const body of cases) {
    const error = await writeErrorOf(() => Response.json(body, { status: 400 }));
    assert.ok(error instanceof errors.GatewayValidationError);
    assert.deepEqual(error.validationMessages, ["amount is required", "name is, too"]);
    assert.equal(error.message, "amount is required; name is, too");
  }
});

Deno.test("error: has the seconds of a Retry-After header that is a number or a date, and 5 seconds without one", async () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const headers = {
    "7": 7,
    "Thu, 01 Jan 2026 00:01:00 GMT": 60,
    "Wed, 31 Dec 2025 00:00:00 GMT": 0,
    "soon": 5,
    "-1": 5,
  };
  for (const [header, seconds] of Object.entries(headers)) {
    await using fake = openFakeGateway(() =>
      Response.json({ status_code: "429" }, { headers: { "Retry-After": header } })
    );
    const error = await clientFor(fake.url, { clock: () => now }).cancel("order-101")
      .catch((error) => error);
    assert.ok(error instanceof errors.GatewayRateLimitError);
    assert.equal(error.retryAfterSeconds, seconds, header);
  }
});

Deno.test("error: every response becomes a result or a GatewayError", async () => {
  const codes = ["200", "201", "407", "400", "500", 200, "x", null];
  const objects = fc.record({ status_code: fc.constantFrom(...codes), more: fc.anything() })
    .map((body) => new TextEncoder().encode(toJson(body)));
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((text) => new TextEncoder().encode(text)),
    objects,
  );
  let nextResponse = { status: 200, body: new Uint8Array() };
  await using fake = openFakeGateway(() =>
    new Response(nextResponse.body, { status: nextResponse.status })
  );
  const gateway = clientFor(fake.url);
  const property = fc.asyncProperty<[Uint8Array<ArrayBuffer>, number]>(
    bodies,
    fc.constantFrom(200, 201, 202, 206, 300, 302, 400, 401, 404, 407, 429, 499, 500, 503, 599),
    async (body, status) => {
      nextResponse = { status, body };
      for (const call of [gateway.getStatus, gateway.cancel, gateway.getInvoice, gateway.getBin]) {
        const result = await call("order-101").catch((error) => error);
        if (result instanceof Error) assert.ok(result instanceof errors.GatewayError, result.stack);
        else assert.equal(typeof result.raw, "object");
      }
    },
  );
  await fc.assert(property, { numRuns: 150 });
});

/** Generated values include bigints, which JSON does not support. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_, each) => typeof each === "bigint" ? String(each) : each);
}

Deno.test("error: an extremely nested body does not crash the client", async () => {
  const deep = `{"status_code":"400","deep":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  const error = await writeErrorOf(() => new Response(deep));
  assert.ok(error instanceof errors.GatewayValidationError);
  assert.equal(await writeErrorOf(() => new Response(deep.replace("400", "200"))), null);
});

Deno.test("error: masks a body with thousands of secrets in reasonable time", async () => {
  const secrets = Array.from(
    { length: 7_000 },
    (_, index) => ({ token: `secret-token-${index}` }),
  );
  const error = await writeErrorOf(() => Response.json({ status_code: "400", secrets }));
  assert.ok(error instanceof errors.GatewayValidationError);
  assert.doesNotMatch(JSON.stringify(error.data), /secret-token/);
});

const CHARGE = {
  payment_type: "gopay",
  transaction_details: { order_id: "order-101", gross_amount: 44_000 },
};

const BROKEN: Record<string, string> = {
  "a connection closed without a response": "",
  "garbage": "\x00\x01\x02 this is not HTTP\r\n\r\n",
  "half a response": 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"status_code":"200"',
  "a truncated chunk":
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{"status_code":"200"}',
};

for (const [what, bytes] of Object.entries(BROKEN)) {
  Deno.test(`error: ${what} leaves the outcome of a write unknown`, async () => {
    await using server = openRawServer(async (connection) => {
      await sendBytes(connection, bytes);
      connection.close();
    });
    const gateway = clientFor(server.url);
    const writes = [
      () => gateway.charge(CHARGE),
      () => gateway.cancel("order-101"),
      () => gateway.voidInvoice("invoice-1"),
    ];
    for (const [number, write] of writes.entries()) {
      const error = await write().catch((error) => error);
      assert.ok(error instanceof errors.GatewayAPIError);
      assert.equal(error.failure, "unreachable");
      assert.equal(error.outcome, "unknown");
      assert.equal(error.statusCode, null);
      // Deno must not send the request again by itself (denoland/deno#35610).
      assert.equal(server.connections(), number + 1);
    }
  });
}
