import assert from "node:assert/strict";
import {
  type Kind,
  linkedAccount,
  openSandbox,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";

/** For each state, a function that creates a transaction in this state and returns its id. */
const STATES: Record<string, (box: TestSandbox) => Promise<string>> = {
  "pending": (box) => createTransaction(box, "bca"),
  "pending card": (box) => createTransaction(box, "card_3ds"),
  "authorize": (box) => createTransaction(box, "card_auth"),
  "capture": (box) => createTransaction(box, "card"),
  "capture, challenged": (box) => createTransaction(box, "card_challenge"),
  "settlement": (box) => createTransaction(box, "card", "settle"),
  "settlement of a bank transfer": (box) => createTransaction(box, "bca", "pay"),
  "deny": (box) => createTransaction(box, "card_3ds", "deny"),
  "cancel": async (box) => {
    const id = await createTransaction(box, "bca");
    await box.post(`/v2/${id}/cancel`);
    return id;
  },
  "expire": (box) => createTransaction(box, "bca", "expire"),
  "failure": (box) => createTransaction(box, "card_3ds", "fail"),
  "refund": async (box) => {
    const id = await createTransaction(box, "gopay", "pay");
    await box.post(`/v2/${id}/refund`, {});
    return id;
  },
  "partial_refund": async (box) => {
    const id = await createTransaction(box, "gopay", "pay");
    await box.post(`/v2/${id}/refund`, { amount: 1 });
    return id;
  },
  "chargeback": async (box) => {
    const id = await createTransaction(box, "card", "settle");
    await box.control(`transactions/${id}/chargeback`);
    return id;
  },
  "partial_chargeback": async (box) => {
    const id = await createTransaction(box, "card", "settle");
    await box.control(`transactions/${id}/chargeback`, { amount: 1 });
    return id;
  },
};

async function createTransaction(
  box: TestSandbox,
  kind: Parameters<TestSandbox["charge"]>[0],
  action = "",
) {
  const { transaction_id } = await box.charge(kind);
  if (action) await box.control(`transactions/${transaction_id}/${action}`);
  return transaction_id;
}

interface Operation {
  run(box: TestSandbox, id: string): Promise<{ http: number; body: Record<string, string> }>;
  /** The status code in each state that allows the operation; in all others it is 412. */
  allowed: Record<string, string>;
  message: string | RegExp;
  status: string;
}

const OPERATIONS: Record<string, Operation> = {
  cancel: {
    run: (box, id) => box.call("POST", `/v2/${id}/cancel`),
    allowed: Object.fromEntries(
      ["pending", "pending card", "authorize", "capture", "capture, challenged"]
        .map((state) => [state, "200"]),
    ),
    message: "Success, transaction is canceled",
    status: "cancel",
  },
  expire: {
    run: (box, id) => box.call("POST", `/v2/${id}/expire`),
    allowed: { "pending": "407", "pending card": "407" },
    message: "Success, transaction is expired",
    status: "expire",
  },
  approve: {
    run: (box, id) => box.call("POST", `/v2/${id}/approve`),
    allowed: { "capture, challenged": "200" },
    message: "Success, transaction is approved",
    status: "capture",
  },
  deny: {
    run: (box, id) => box.call("POST", `/v2/${id}/deny`),
    allowed: { "capture, challenged": "200" },
    message: "Success, transaction is denied",
    status: "cancel",
  },
  capture: {
    run: (box, id) => box.call("POST", "/v2/capture", { transaction_id: id }),
    allowed: { authorize: "200" },
    message: "Success, Credit Card capture transaction is successful",
    status: "capture",
  },
  refund: {
    run: (box, id) => box.call("POST", `/v2/${id}/refund`, {}),
    allowed: { settlement: "200", partial_refund: "200" },
    message: /^Success, refund (offline )?request is approved$/,
    status: "refund",
  },
  "direct refund": {
    run: (box, id) => box.call("POST", `/v2/${id}/refund/online/direct`, {}),
    allowed: { settlement: "200", partial_refund: "200" },
    message: "Success, refund request is approved by the bank",
    status: "refund",
  },
};

for (const [name, operation] of Object.entries(OPERATIONS)) {
  Deno.test(`${name}: succeeds in the allowed states and is rejected in all others`, async () => {
    await using box = await openSandbox();
    for (const [state, create] of Object.entries(STATES)) {
      const id = await create(box);
      const before = await box.status(id);
      await box.waitForWebhooks();
      const sentBefore = box.hooks.length;
      const { http, body } = await operation.run(box, id);
      assert.equal(http, 200, state);
      await box.waitForWebhooks();
      const after = await box.status(id);
      const code = operation.allowed[state];
      if (code) {
        assert.equal(body.status_code, code, state);
        if (typeof operation.message === "string") {
          assert.equal(body.status_message, operation.message, state);
        } else assert.match(body.status_message!, operation.message, state);
        assert.equal(body.transaction_status, operation.status, state);
        assert.equal(after.transaction_status, operation.status, state);
        assert.equal(box.hooks.length, sentBefore + 1, state);
      } else {
        assert.equal(body.status_code, "412", state);
        assert.equal(body.status_message, "Transaction status cannot be updated.");
        assert.equal(body.id, before.transaction_id, state);
        assert.deepEqual(after, before, state);
        assert.equal(box.hooks.length, sentBefore, state);
      }
    }
  });

  Deno.test(`${name}: returns status code 404 with HTTP 200 for an unknown transaction`, async () => {
    await using box = await openSandbox();
    const { http, body } = await operation.run(box, "unknown-id");
    assert.deepEqual([http, body.status_code], [200, "404"]);
    assert.equal(body.status_message, "Transaction doesn't exist.");
  });

  Deno.test(`${name}: returns status code 401 with HTTP 401 without the server key`, async () => {
    await using box = await openSandbox();
    const id = await createTransaction(box, "card_challenge");
    const messageFor = async (Authorization: string) => {
      const withOtherKey: TestSandbox = {
        ...box,
        call: (method, path, body) => box.call(method, path, body, { Authorization }),
      };
      const { http, body } = await operation.run(withOtherKey, id);
      assert.deepEqual([http, body.status_code], [401, "401"], Authorization);
      return body.status_message;
    };
    const wrong = "Unknown Merchant server_key/id";
    assert.equal(await messageFor(`Basic ${btoa("SB-Mid-server-other:")}`), wrong);
    assert.equal(await messageFor(`Basic ${btoa("SB-Mid-client-sandbox:")}`), wrong);
    const empty = "Operation is not allowed due to unauthorized payload.";
    assert.equal(await messageFor(`Basic ${btoa(":")}`), empty);
    assert.equal(await messageFor("Bearer x"), empty);
  });
}

/** The code in status responses and in webhooks. Some states have two different codes. */
const CODES: Record<string, [status: string, webhook: string, message?: string]> = {
  "pending": ["201", "201", "Success, transaction is found"],
  "pending card": ["201", "201", "Credit Card transaction is pending"],
  "authorize": ["200", "200", "Success, Credit Card transaction is successful"],
  "capture": ["200", "200", "Success, Credit Card transaction is successful"],
  "capture, challenged": ["201", "201", "Success, Credit Card transaction is successful"],
  "settlement": ["200", "200", "Success, Credit Card transaction is successful"],
  "settlement of a bank transfer": ["200", "200", "Success, transaction is found"],
  "deny": ["202", "202"],
  "cancel": ["200", "202", "Success, transaction is found"],
  "expire": ["407", "202", "Success, transaction is found"],
  "failure": ["202", "202", "Credit Card transaction is failed"],
  "refund": ["200", "200", "Success, transaction is found"],
  "partial_refund": ["200", "200", "Success, transaction is found"],
  "chargeback": ["200", "200", "Success, transaction is found"],
  "partial_chargeback": ["200", "200", "Success, transaction is found"],
};

for (const [state, create] of Object.entries(STATES)) {
  Deno.test(`status code of ${state}: is the gateway's code in the status response and in the webhook`, async () => {
    await using box = await openSandbox();
    const id = await create(box);
    await box.waitForWebhooks();
    const { http, body } = await box.call("GET", `/v2/${id}/status`);
    const [status, webhookCode, message] = CODES[state]!;
    assert.deepEqual([http, body.status_code], [200, status]);
    if (message) assert.equal(body.status_message, message);
    assert.equal(body.transaction_status, state.split(/[ ,]/)[0]);
    const webhook = box.hooks.at(-1)!.body;
    assert.deepEqual([webhook.status_code, webhook.transaction_status], [
      webhookCode,
      body.transaction_status,
    ]);
  });
}

Deno.test("errors of the core API: have HTTP status 200, except for 400 and 401, and the code in the body", async () => {
  await using box = await openSandbox();
  const { order_id } = await box.paid("gopay");
  const codesOf = async (path: string, body?: unknown) => {
    const { http, body: { status_code } } = await box.call("POST", path, body);
    return [http, status_code];
  };
  const transaction_details = { order_id: "new", gross_amount: 1_000 };
  const card = { payment_type: "credit_card", credit_card: { token_id: "none" } };
  assert.deepEqual(await codesOf("/v2/charge", { payment_type: null }), [400, "400"]);
  assert.deepEqual(await codesOf("/v2/charge", { payment_type: "bri_epay" }), [200, "402"]);
  assert.deepEqual(await codesOf("/v2/unknown/cancel"), [200, "404"]);
  const taken = { payment_type: "gopay", transaction_details: { order_id, gross_amount: 1 } };
  assert.deepEqual(await codesOf("/v2/charge", taken), [200, "406"]);
  assert.deepEqual(await codesOf("/v2/charge", { ...card, transaction_details }), [200, "411"]);
  assert.deepEqual(await codesOf(`/v2/${order_id}/cancel`), [200, "412"]);
  assert.deepEqual(await codesOf(`/v2/${order_id}/refund`, { amount: 99_999 }), [200, "414"]);
  const malformed = await fetch(`${box.url}/v2/charge`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa("SB-Mid-server-sandbox:")}` },
    body: "{",
  });
  const { status_code, status_message } = await malformed.json();
  assert.deepEqual([malformed.status, status_code], [200, "413"]);
  assert.match(status_message, /malformed syntax in the request body$/);
});

Deno.test("expire of a paid transaction: is rejected with 412 for Permata and Indomaret", async () => {
  await using box = await openSandbox();
  for (const kind of ["permata", "permata_old", "indomaret"] as const) {
    const { transaction_id } = await box.paid(kind);
    const answer = await box.post(`/v2/${transaction_id}/expire`);
    assert.equal(answer.status_code, "412");
    assert.equal(answer.status_message, "Transaction status cannot be updated.");
  }
});

Deno.test("captures: are settled the next day at 16:00 Jakarta time", async () => {
  await using box = await openSandbox();
  await box.control("clock", { to: "2081-03-03T20:00:00Z" }); // 03:00 on 4 March in Jakarta
  const { transaction_id } = await box.charge("card");
  await box.control("clock", { to: "2081-03-05T08:59:00Z" });
  assert.equal((await box.status(transaction_id)).transaction_status, "capture");
  await box.control("clock", { to: "2081-03-05T09:00:00Z" });
  const status = await box.status(transaction_id);
  assert.equal(status.transaction_status, "settlement");
  assert.equal(status.settlement_time, "2081-03-05 16:00:00");
});

Deno.test("undecided challenge: is cancelled at settlement time", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.charge("card_challenge");
  await box.advance(2 * 86_400);
  assert.equal((await box.status(transaction_id)).transaction_status, "cancel");
  const { transaction_id: approved } = await box.charge("card_challenge");
  await box.post(`/v2/${approved}/approve`);
  await box.advance(2 * 86_400);
  assert.equal((await box.status(approved)).transaction_status, "settlement");
});

Deno.test("denied challenge: has the status that is set in the settings, and the fraud status deny", async () => {
  await using box = await openSandbox();
  for (const status of ["cancel", "deny"]) {
    await box.control("settings", { denied_review_status: status }, "PATCH");
    const { transaction_id } = await box.charge("card_challenge", {
      transaction_details: { order_id: status },
    });
    const { status_code, fraud_status } = await box.post(`/v2/${transaction_id}/deny`);
    assert.deepEqual([status_code, fraud_status], ["200", "deny"]);
    await box.waitForWebhooks();
    const last = box.hooks.at(-1)!.body;
    assert.deepEqual([last.status_code, last.transaction_status, last.fraud_status], [
      "202",
      status,
      "deny",
    ]);
  }
});

Deno.test("approved challenge of an authorization: notifies the merchant", async () => {
  await using box = await openSandbox();
  const token_id = await box.token("4511111111111117");
  const { transaction_id, status_code } = await box.charge("card_auth", {
    credit_card: { token_id },
  });
  assert.equal(status_code, "201");
  await box.post(`/v2/${transaction_id}/approve`);
  await box.waitForWebhooks();
  assert.deepEqual(
    box.hooks.map(({ body }) => [body.transaction_status, body.fraud_status, body.status_code]),
    [["authorize", "challenge", "201"], ["authorize", "accept", "200"]],
  );
});

Deno.test("cancel of an authorization: depends on the acquiring bank", async () => {
  await using box = await openSandbox();
  const codes = async (bank: string) => {
    const authorize = async () =>
      (await box.charge("card_auth", { credit_card: { bank } })).transaction_id;
    const authorized = await authorize();
    const captured = await authorize();
    await box.post("/v2/capture", { transaction_id: captured });
    return [
      (await box.post(`/v2/${authorized}/cancel`)).status_code,
      (await box.post(`/v2/${captured}/cancel`)).status_code,
    ];
  };
  assert.deepEqual(await codes("bni"), ["412", "200"]);
  assert.deepEqual(await codes("mandiri"), ["200", "412"]);
  for (const bank of ["bca", "bri", "maybank"]) assert.deepEqual(await codes(bank), ["200", "200"]);
});

Deno.test("capture: can be partial, up to the authorized amount", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.charge("card_auth");
  const capture = (gross_amount: unknown) =>
    box.call("POST", "/v2/capture", { transaction_id, gross_amount });
  const tooMuch = await capture(44_001);
  assert.deepEqual([tooMuch.http, tooMuch.body.status_code], [400, "400"]);
  assert.equal((await capture(10.5)).body.status_code, "400");
  const { body } = await capture(40_000);
  assert.deepEqual([body.gross_amount, body.transaction_status], ["40000.00", "capture"]);
  const status = await box.status(transaction_id);
  assert.equal(status.gross_amount, "40000.00");
  assert.equal(status.status_message, "Success, Credit Card capture transaction is successful");
  await box.control(`transactions/${transaction_id}/settle`);
  const { refund_amount } = await box.post(`/v2/${transaction_id}/refund`, {});
  assert.equal(refund_amount, "40000.00");
});

Deno.test("capture declined by the bank: returns deny and keeps the authorization for a retry", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.charge("card_auth");
  await box.fault("capture", "bank_refuses");
  const refused = await box.post("/v2/capture", { transaction_id });
  assert.deepEqual([refused.status_code, refused.transaction_status], ["202", "deny"]);
  assert.equal((await box.status(transaction_id)).transaction_status, "authorize");
  assert.equal((await box.post("/v2/capture", { transaction_id })).status_code, "200");
});

Deno.test("authorization: expires after eight days without capture", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.charge("card_auth");
  await box.advance(8 * 86_400 - 30);
  assert.equal((await box.status(transaction_id)).transaction_status, "authorize");
  await box.advance(31);
  assert.equal((await box.status(transaction_id)).transaction_status, "expire");
});

Deno.test("gopay authorization: can only be captured in full and becomes a settlement", async () => {
  await using box = await openSandbox();
  const gopay = { ...await linkedAccount(box), pre_auth: true };
  const { transaction_id, transaction_status } = await box.charge("gopay", { gopay });
  assert.equal(transaction_status, "authorize");
  const part = await box.post("/v2/capture", { transaction_id, gross_amount: 43_999 });
  assert.equal(part.status_code, "400");
  const whole = await box.post("/v2/capture", { transaction_id, gross_amount: 44_000 });
  assert.deepEqual([whole.status_code, whole.transaction_status], ["200", "settlement"]);
});

Deno.test("gopay authorization: lasts 15 minutes or until its custom expiry", async () => {
  await using box = await openSandbox();
  const gopay = { ...await linkedAccount(box), pre_auth: true };
  const usual = await box.charge("gopay", { gopay });
  const longer = await box.charge("gopay", { gopay, custom_expiry: { expiry_duration: 60 } });
  const withPin = await box.charge("gopay", {
    gopay,
    transaction_details: { gross_amount: 200_000 },
  });
  await box.advance(4 * 60);
  await box.control(`transactions/${withPin.transaction_id}/pay`);
  await box.advance(12 * 60);
  const statuses = async () =>
    await Promise.all(
      [usual, longer, withPin].map(async ({ transaction_id }) =>
        (await box.status(transaction_id)).transaction_status
      ),
    );
  // The PIN was entered after four minutes, and the 15 minutes of this authorization start then.
  assert.deepEqual(await statuses(), ["expire", "authorize", "authorize"]);
  await box.advance(4 * 60);
  assert.deepEqual(await statuses(), ["expire", "authorize", "expire"]);
});

Deno.test("reversal: is possible for Permata, Mandiri and Indomaret only", async () => {
  await using box = await openSandbox();
  for (const kind of ["permata", "permata_old", "echannel", "indomaret"] as const) {
    const { transaction_id } = await box.paid(kind);
    await box.control(`transactions/${transaction_id}/reverse`);
    assert.equal((await box.status(transaction_id)).transaction_status, "deny", kind);
    assert.equal(box.hooks.at(-1)!.body.status_code, "202");
  }
  for (const kind of ["bca", "gopay", "alfamart"] as const) {
    const { transaction_id } = await box.paid(kind);
    const { http } = await box.call("POST", `/_sandbox/transactions/${transaction_id}/reverse`);
    assert.equal(http, 412, kind);
  }
});

Deno.test("deny and fail: are rejected for payment methods without these outcomes", async () => {
  await using box = await openSandbox();
  const code = async (kind: Parameters<typeof box.charge>[0], action: string) => {
    const { transaction_id } = await box.charge(kind);
    return (await box.call("POST", `/_sandbox/transactions/${transaction_id}/${action}`)).http;
  };
  for (const kind of ["card_3ds", "gopay", "shopeepay", "qris", "ovo", "akulaku"] as const) {
    assert.equal(await code(kind, "deny"), 200, kind);
  }
  for (const kind of ["bca", "permata", "echannel", "indomaret", "alfamart", "dana"] as const) {
    assert.equal(await code(kind, "deny"), 412, kind);
    assert.equal(await code(kind, "fail"), 412, kind);
  }
  assert.equal(await code("card_3ds", "fail"), 200);
  assert.equal(await code("gopay", "fail"), 412);
});

Deno.test("DANA transaction: is found by its transaction id only, and its pending status is in capitals", async () => {
  await using box = await openSandbox();
  const { transaction_id, order_id } = await box.charge("dana");
  assert.equal((await box.status(order_id)).status_code, "404");
  const status = await box.status(transaction_id);
  assert.deepEqual([status.status_code, status.transaction_status], ["200", "PENDING"]);
  assert.equal(status.actions[0].name, "deeplink-redirect");
  assert.equal((await box.post(`/v2/${order_id}/cancel`)).status_code, "404");
  assert.equal((await box.post(`/v2/${transaction_id}/cancel`)).status_code, "200");
});

Deno.test("DANA transaction: without dana_order_id, no response but the webhook names the order", async () => {
  await using box = await openSandbox({ settings: { dana_order_id: false } });
  const { transaction_id, order_id } = await box.charge("dana");
  assert.equal((await box.status(transaction_id)).order_id, transaction_id);
  await box.control(`transactions/${transaction_id}/pay`);
  const refunded = await box.post(`/v2/${transaction_id}/refund`, { amount: 1_000 });
  assert.deepEqual(
    [refunded.status_code, refunded.order_id, refunded.transaction_id],
    ["200", transaction_id, undefined],
  );
  const other = await box.charge("dana");
  const cancelled = await box.post(`/v2/${other.transaction_id}/cancel`);
  assert.deepEqual(
    [cancelled.transaction_status, cancelled.order_id, cancelled.transaction_id],
    ["cancel", undefined, undefined],
  );
  await box.waitForWebhooks();
  const orders = box.hooks.map(({ body }) => body.order_id);
  assert.deepEqual([...new Set(orders)], [order_id, other.order_id]);
});

Deno.test("repeated payment to a virtual account: creates another transaction, listed newest first", async () => {
  await using box = await openSandbox();
  const first = await box.charge("bca");
  const again = `transactions/${first.transaction_id}/pay_again`;
  assert.equal((await box.call("POST", `/_sandbox/${again}`)).http, 412);
  await box.control(`transactions/${first.transaction_id}/pay`);
  const second = await box.control(again);
  assert.notEqual(second.order_id, first.order_id);
  const b2b = await box.get(`/v2/${first.order_id}/status/b2b?page=0&per_page=10`);
  assert.deepEqual([b2b.status_code, b2b.status_message], [
    "200",
    "Success, transactions are retrieved",
  ]);
  assert.deepEqual(
    b2b.transactions.map(({ transaction_id }: { transaction_id: string }) => transaction_id),
    [second.transaction_id, first.transaction_id],
  );
  const page = await box.get(`/v2/${first.order_id}/status/b2b?page=1&per_page=1`);
  assert.equal(page.transactions[0].transaction_id, first.transaction_id);
  assert.equal((await box.get("/v2/unknown/status/b2b")).status_code, "404");
});

Deno.test("customer fee: is included in the amount and listed in the metadata", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.charge("bca");
  await box.control(`transactions/${transaction_id}/pay`, { fee: 4_000 });
  const { gross_amount, metadata } = box.hooks.at(-1)!.body;
  assert.equal(gross_amount, "48000.00");
  assert.deepEqual(metadata.extra_info.gross_amount_info, {
    original_amount: 44_000,
    gross_amount: 48_000,
    customer_imposed_payment_fee: 4_000,
  });
});

Deno.test("settle call: settles captures and cancels undecided challenges", async () => {
  await using box = await openSandbox();
  await box.charge("card");
  await box.charge("card", { credit_card: { token_id: await box.token("4511111111111117") } });
  assert.deepEqual(await box.control("settle"), { settled: 1, cancelled: 1 });
});

Deno.test("control: decides challenges and captures authorizations, as the gateway's dashboard does", async () => {
  await using box = await openSandbox();
  const statusAfter = async (kind: Kind, action: string) => {
    const id = await createTransaction(box, kind);
    const changed = await box.control(`transactions/${id}/${action}`);
    return [changed.transaction_status, changed.fraud_status];
  };
  assert.deepEqual(await statusAfter("card_challenge", "approve"), ["capture", "accept"]);
  assert.deepEqual(await statusAfter("card_challenge", "deny"), ["cancel", "deny"]);
  assert.deepEqual(await statusAfter("card_auth", "capture"), ["capture", "accept"]);
  const captured = await box.call("POST", "/_sandbox/transactions/order-1/capture");
  assert.equal(captured.http, 412);
});
