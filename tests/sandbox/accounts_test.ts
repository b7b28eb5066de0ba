import assert from "node:assert/strict";
import { linkedAccount, openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";

function link(box: TestSandbox, phone_number: string) {
  return box.call("POST", "/v2/pay/account", {
    payment_type: "gopay",
    gopay_partner: { phone_number, country_code: "62" },
  });
}

Deno.test("linked account: can be linked, activated, read and unlinked", async () => {
  await using box = await openSandbox();
  const { http, body } = await link(box, "8123456789");
  assert.equal(http, 200);
  assert.deepEqual([body.status_code, body.account_status], ["201", "PENDING"]);
  const names = body.actions.map(({ name }: { name: string }) => name);
  assert.ok(names.includes("activation-link-url") && names.includes("activation-link-app"));
  const path = `/v2/pay/account/${body.account_id}`;
  const pending = await box.get(path);
  assert.deepEqual([pending.status_code, pending.account_status], ["201", "PENDING"]);
  const tooEarly = await box.post(`${path}/unbind`);
  assert.equal(tooEarly.status_code, "412");
  assert.equal(tooEarly.status_message, "Account status cannot be updated.");

  await box.control(`accounts/${body.account_id}/activate`);
  const enabled = await box.get(path);
  assert.deepEqual([enabled.status_code, enabled.account_status], ["200", "ENABLED"]);
  const [option] = enabled.metadata.payment_options;
  assert.deepEqual(Object.keys(option), ["name", "active", "balance", "metadata", "token"]);
  assert.deepEqual(option.balance, { value: "1000000.00", currency: "IDR" });

  const unlinked = await box.call("POST", `${path}/unbind`);
  assert.deepEqual([unlinked.http, unlinked.body.status_code, unlinked.body.account_status], [
    200,
    "204",
    "DISABLED",
  ]);
  assert.equal((await box.get(path)).status_code, "204");
  await box.waitForWebhooks();
  assert.deepEqual(
    box.hooks.map(({ path, body }) => [
      path,
      body.status_code,
      body.account_status,
      body.status_message,
    ]),
    [
      ["/account", "200", "ENABLED", "Midtrans account_linked notification"],
      ["/account", "204", "DISABLED", "Midtrans account_unlinked notification"],
    ],
  );
  assert.deepEqual(
    Object.keys(box.hooks[0]!.body).sort(),
    [
      "account_id",
      "account_status",
      "merchant_id",
      "payment_type",
      "signature_key",
      "status_code",
      "status_message",
    ],
  );
});

Deno.test("linked account: expires if the activation link is not used", async () => {
  await using box = await openSandbox();
  const { body } = await link(box, "8123456789");
  await box.advance(3_600);
  const account = await box.get(`/v2/pay/account/${body.account_id}`);
  assert.deepEqual([account.status_code, account.account_status], ["204", "EXPIRED"]);
});

Deno.test("linked account: shows the country code once, even if the phone number contains it", async () => {
  await using box = await openSandbox();
  for (const number of ["8123456789", "628123456789"]) {
    const { body } = await link(box, number);
    const page = await fetch(body.actions[0].url);
    assert.match(await page.text(), />\+628123456789</);
  }
});

Deno.test("linked account: rejects unregistered and blocked test phones", async () => {
  await using box = await openSandbox();
  const unknown = (await link(box, "123450001")).body;
  assert.deepEqual(
    [unknown.status_code, unknown.channel_response_code, unknown.channel_response_message],
    ["202", "105", "User Not Found"],
  );
  for (const phone of ["123450002", "8271939753"]) {
    const { http, body } = await link(box, phone);
    assert.deepEqual([http, body.status_code, body.status_message], [
      200,
      "410",
      "GoPay user is blocked",
    ]);
  }
});

Deno.test("linked account: rejects a phone number that starts with 0 with the gateway's message", async () => {
  await using box = await openSandbox();
  const { http, body } = await link(box, "0812");
  assert.deepEqual([http, body.status_code], [400, "400"]);
  assert.deepEqual(body.validation_messages, [
    "gopay_partner.phone_number must be numeric digits and must not begin with 0",
  ]);
});

Deno.test("linked account: returns 404 for an unknown id", async () => {
  await using box = await openSandbox();
  for (const call of [box.get("/v2/pay/account/x"), box.post("/v2/pay/account/x/unbind")]) {
    const { status_code, status_message } = await call;
    assert.deepEqual([status_code, status_message], ["404", "Account doesn't exist."]);
  }
});

Deno.test("gopay charge of a linked account: settles a small amount, requires a PIN for a large one", async () => {
  await using box = await openSandbox();
  const gopay = await linkedAccount(box);
  const charge = (gross_amount: number, more = {}) =>
    box.charge("gopay", { gopay: { ...gopay, ...more }, transaction_details: { gross_amount } });
  const small = await charge(99_999);
  assert.deepEqual([small.status_code, small.transaction_status], ["200", "settlement"]);
  const large = await charge(100_000);
  assert.deepEqual([large.status_code, large.transaction_status], ["201", "pending"]);
  assert.deepEqual(large.actions.map(({ name }: { name: string }) => name), [
    "verification-link-url",
    "verification-link-app",
  ]);
  await box.advance(299);
  assert.equal((await box.status(large.order_id)).transaction_status, "pending");
  await box.advance(2);
  assert.equal((await box.status(large.order_id)).transaction_status, "expire");
  const paid = await charge(100_000);
  await box.control(`transactions/${paid.transaction_id}/pay`);
  const status = await box.status(paid.transaction_id);
  assert.deepEqual([status.transaction_status, status.payment_option_type], [
    "settlement",
    "GOPAY_WALLET",
  ]);
  assert.equal((await charge(100_000, { recurring: true })).transaction_status, "settlement");
});

Deno.test("gopay charge of a linked account: is denied without sufficient balance", async () => {
  await using box = await openSandbox();
  for (const [phone, amount] of [["8242014881", 1_000], ["8123456789", 1_000_001]] as const) {
    const gopay = await linkedAccount(box, phone);
    const answer = await box.charge("gopay", {
      gopay,
      transaction_details: { gross_amount: amount },
    });
    assert.deepEqual(
      [answer.status_code, answer.transaction_status, answer.channel_response_message],
      ["202", "deny", "Insufficient Balance"],
    );
    await box.waitForWebhooks();
    assert.equal(box.hooks.at(-1)!.body.channel_response_code, "201");
  }
});

Deno.test("gopay charge of a linked account: accepts the pay-later option", async () => {
  await using box = await openSandbox();
  const { account_id } = await linkedAccount(box, "8103001242");
  const { metadata } = await box.get(`/v2/pay/account/${account_id}`);
  const later = metadata.payment_options.find(({ name }: { name: string }) => name === "PAY_LATER");
  const gopay = { account_id, payment_option_token: later.token };
  await box.charge("gopay", { gopay });
  await box.waitForWebhooks();
  assert.equal(box.hooks.at(-1)!.body.payment_option_type, "PAY_LATER");
});

Deno.test("gopay charge: is rejected after the account was unlinked", async () => {
  await using box = await openSandbox();
  const gopay = await linkedAccount(box);
  await box.post(`/v2/pay/account/${gopay.account_id}/unbind`);
  const answer = await box.charge("gopay", { gopay });
  assert.deepEqual([answer.status_code, answer.status_message], [
    "404",
    "GoPay Wallet doesn't exist.",
  ]);
});

Deno.test("merchant preferences: list the payment methods, without those that the account does not have", async () => {
  await using box = await openSandbox();
  const path = "/snap/v3/merchant-preferences";
  const enabled = async () =>
    (await box.get(path)).payment_channels.filter(({ enabled }: { enabled: boolean }) => enabled)
      .map(({ name }: { name: string }) => name);
  assert.ok((await enabled()).includes("credit_card") && (await enabled()).includes("bca_va"));
  await box.control("settings", { inactive_payment_types: ["bank_transfer"] }, "PATCH");
  assert.ok((await enabled()).includes("credit_card") && !(await enabled()).includes("bca_va"));
  const refused = await box.call("GET", path, undefined, { Authorization: `Basic ${btoa("no:")}` });
  assert.equal(refused.http, 401);
  assert.ok(Array.isArray(refused.body.error_messages));
});
