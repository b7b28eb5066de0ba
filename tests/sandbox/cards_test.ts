import assert from "node:assert/strict";
import {
  ACCEPTED_CARD,
  CLIENT_KEY,
  openSandbox,
  savedCard,
  SERVER_KEY,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";

/** FDS: the fraud detection system of the gateway. */
type Outcome = "accept" | "deny_by_bank" | "deny_by_fds" | "insufficient_funds";

/** The gateway's list of test cards. `flow` is the 3-D Secure flow. */
const CARDS: [number: string, outcome: Outcome, flow: string][] = [
  ["4811111111111114", "accept", "otp"],
  ["4911111111111113", "deny_by_bank", "otp"],
  ["4411111111111118", "accept", "attempted"],
  ["4711111111111115", "deny_by_bank", "attempted"],
  ["4611111111111116", "deny_by_fds", "attempted"],
  ["5211111111111117", "accept", "otp"],
  ["5111111111111118", "deny_by_bank", "otp"],
  ["5410111111111116", "accept", "attempted"],
  ["5511111111111114", "deny_by_bank", "attempted"],
  ["5411111111111115", "deny_by_fds", "attempted"],
  ["3528203324564357", "accept", "otp"],
  ["3528868047864225", "accept", "attempted"],
  ["3528512944932269", "deny_by_bank", "otp"],
  ["3528909779837631", "deny_by_bank", "attempted"],
  ["3528185267171623", "deny_by_fds", "attempted"],
  ["370192169722458", "accept", "otp"],
  ["373747726661940", "accept", "attempted"],
  ["374296354400881", "deny_by_bank", "otp"],
  ["370356097975856", "deny_by_bank", "attempted"],
  ["378096218340018", "deny_by_fds", "attempted"],
  ["4556557955726624", "accept", "frictionless"],
  ["4024007189449340", "accept", "frictionless"],
  ["5333259155643223", "accept", "frictionless"],
  ["4485436455354151", "deny_by_bank", "frictionless"],
  ["5328720384582224", "deny_by_bank", "frictionless"],
  ["4916994064252017", "accept", "otp"],
  ["5306889942833340", "accept", "otp"],
  ["4604633194219929", "deny_by_bank", "otp"],
  ["5424184049821670", "deny_by_bank", "otp"],
  ["4024007176265022", "accept", "slow"],
  ["5487971631330522", "accept", "slow"],
  ["4716125059847899", "deny_by_bank", "impossible"],
  ["5250548692069390", "deny_by_bank", "impossible"],
  ["4472429869996670", "insufficient_funds", "otp"],
  ["4806000000000081", "insufficient_funds", "otp"],
  ["4723249479082225", "deny_by_bank", "outdated"],
  ["5555666677771111", "deny_by_bank", "outdated"],
  ["4617006959746656", "accept", "otp"],
  ["4599207887122414", "accept", "otp"],
  ["4105058689481467", "accept", "otp"],
  ["4773776057051650", "accept", "otp"],
  ["4365026335737199", "accept", "otp"],
  ["4201910000000009", "accept", "otp"],
  ["4055772026036004", "accept", "otp"],
  ["4617008560831760", "deny_by_bank", "otp"],
  ["4105054148541363", "deny_by_bank", "otp"],
  ["4773775202011809", "deny_by_bank", "otp"],
  ["4365028662512583", "deny_by_bank", "otp"],
];

const DENIALS = {
  deny_by_bank: ["accept", /^Deny by Bank \[BCA\] with code \[05\] and message \[.+\]$/],
  deny_by_fds: ["deny", /^Denied by Veritrans Fraud Detection System$/],
  insufficient_funds: ["accept", /^Deny by Bank \[BCA\] with code \[51\] and message \[.+\]$/],
} as const;

Deno.test("test cards: behave as in the gateway's list without 3-D Secure", async () => {
  await using box = await openSandbox();
  for (const [number, outcome] of CARDS) {
    const answer = await box.charge("card", { credit_card: { token_id: await box.token(number) } });
    assertOutcome(answer, outcome, number);
    assert.equal(answer.masked_card, `${number.slice(0, 8)}-${number.slice(-4)}`);
  }
});

Deno.test("test cards: behave as in the gateway's list after 3-D Secure", async () => {
  await using box = await openSandbox();
  for (const [number, outcome, flow] of CARDS) {
    const token_id = await box.token(number);
    const answer = await box.charge("card_3ds", { credit_card: { token_id } });
    if (flow === "outdated") {
      assert.equal(answer.status_code, "402", number);
      assert.match(answer.status_message, /^Cards with 3DS version 1 or lower are not supported/);
      continue;
    }
    assert.deepEqual([answer.status_code, answer.transaction_status], ["201", "pending"], number);
    const { transaction_id } = answer;
    await box.control(`transactions/${transaction_id}/three_ds`);
    if (flow === "slow") {
      assert.equal((await box.status(transaction_id)).transaction_status, "pending");
      await box.advance(61);
    }
    const status = await box.status(transaction_id);
    if (flow === "impossible") {
      assert.deepEqual([status.transaction_status, status.status_message], [
        "deny",
        "3DS Authentication Denied",
      ]);
      continue;
    }
    assertOutcome(status, outcome, number);
    assert.equal(status.three_ds_version, "2");
    assert.equal(status.eci, flow === "attempted" ? "06" : "05", number);
    assert.equal(status.challenge_completion, ["otp", "slow"].includes(flow), number);
    const { three_ds_challenge_completion } = box.hooks.at(-1)!.body;
    assert.equal(three_ds_challenge_completion, status.challenge_completion);
  }
});

function assertOutcome(answer: Record<string, string>, outcome: Outcome, number: string) {
  const { status_code, transaction_status, fraud_status, status_message } = answer;
  if (outcome === "accept") {
    assert.deepEqual([status_code, transaction_status, fraud_status], [
      "200",
      "capture",
      "accept",
    ], number);
    return;
  }
  const [fraud, message] = DENIALS[outcome];
  assert.deepEqual([status_code, transaction_status, fraud_status], ["202", "deny", fraud], number);
  assert.match(status_message!, message, number);
}

Deno.test("test card with a limit: accepts 30,000 and denies higher amounts", async () => {
  await using box = await openSandbox();
  const status = async (gross_amount: number) => {
    const token_id = await box.token("4806000000000081");
    const more = { credit_card: { token_id }, transaction_details: { gross_amount } };
    return (await box.charge("card", more)).transaction_status;
  };
  assert.equal(await status(30_000), "capture");
  assert.equal(await status(30_001), "deny");
});

Deno.test("3-D Secure: denies the payment if authentication fails", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.charge("card_3ds");
  await box.control(`transactions/${transaction_id}/three_ds`, { result: "failure" });
  const { transaction_status, status_message } = await box.status(transaction_id);
  assert.deepEqual([transaction_status, status_message], ["deny", "3DS Authentication Denied"]);
});

Deno.test("card authorization: lasts eight days after 3-D Secure, also with a slow issuer", async () => {
  await using box = await openSandbox();
  for (const number of [ACCEPTED_CARD, "4024007176265022"]) {
    const token_id = await box.token(number);
    const more = { credit_card: { token_id, type: "authorize" } };
    const { transaction_id } = await box.charge("card_3ds", more);
    await box.control(`transactions/${transaction_id}/three_ds`);
    await box.advance(7 * 86_400);
    assert.equal((await box.status(transaction_id)).transaction_status, "authorize", number);
    await box.advance(2 * 86_400);
    assert.equal((await box.status(transaction_id)).transaction_status, "expire", number);
  }
});

Deno.test("one-time token: is valid for one charge within 15 minutes", async () => {
  await using box = await openSandbox();
  const token_id = await box.token(ACCEPTED_CARD);
  const charge = () => box.charge("card", { credit_card: { token_id } });
  assert.equal((await charge()).status_code, "200");
  const again = await charge();
  assert.equal(again.status_code, "411");
  assert.equal(
    again.status_message,
    "Credit card token is no longer available. Please create a new one.",
  );
  const late = await box.token(ACCEPTED_CARD);
  await box.advance(16 * 60);
  const answer = await box.charge("card", { credit_card: { token_id: late } });
  assert.equal(answer.status_code, "411");
});

Deno.test("one-time token: stays valid if the charge is rejected for its order id", async () => {
  await using box = await openSandbox();
  const token_id = await box.token(ACCEPTED_CARD);
  const charge = async (order_id: string) =>
    (await box.charge("card", { credit_card: { token_id }, transaction_details: { order_id } }))
      .status_code;
  await box.charge("bca", { transaction_details: { order_id: "taken" } });
  assert.equal(await charge("taken"), "406");
  assert.equal(await charge("free"), "200");
});

Deno.test("card token: has the gateway's format", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("GET", `/v2/token?${query({})}`);
  assert.equal(http, 200);
  assert.equal(body.status_message, "Credit card token is created as Token ID.");
  assert.match(body.token_id, /^48111111-1114-[0-9a-f-]{36}$/);
  assert.equal(body.hash, "48111111-1114-mami");
});

function query(more: Record<string, string>): string {
  const defaults = {
    client_key: CLIENT_KEY,
    card_number: ACCEPTED_CARD,
    card_cvv: "123",
    card_exp_month: "12",
    card_exp_year: "2099",
  };
  return String(new URLSearchParams({ ...defaults, ...more }));
}

Deno.test("card token: rejects an invalid card with 400 in the body and HTTP 200", async () => {
  await using box = await openSandbox();
  const messagesFor = async (more: Record<string, string>) => {
    const { http, body } = await box.call("GET", `/v2/token?${query(more)}`);
    assert.deepEqual([http, body.status_code], [200, "400"]);
    return body.validation_messages.join();
  };
  assert.equal(
    await messagesFor({ card_number: "4811111111111115" }),
    "card_number does not match with luhn algorithm",
  );
  assert.equal(
    await messagesFor({ card_exp_year: "2020" }),
    "card_exp_year must be greater than this year",
  );
  assert.match(await messagesFor({ card_cvv: "" }), /card_cvv is required/);
  assert.match(await messagesFor({ card_exp_month: "13" }), /card_exp_month/);
  const { body } = await box.call(
    "GET",
    `/v2/token?${query({ card_number: "4811 1111 1111 1114" })}`,
  );
  assert.equal(body.status_code, "200");
});

Deno.test("card token: requires the client key and rejects the server key", async () => {
  await using box = await openSandbox();
  for (const client_key of ["", "SB-Mid-client-other", SERVER_KEY]) {
    const { http, body } = await box.call("GET", `/v2/token?${query({ client_key })}`);
    assert.deepEqual([http, body.status_code], [401, "401"]);
  }
});

Deno.test("registered card: can be charged repeatedly, and with a two-click token", async () => {
  await using box = await openSandbox();
  const saved = await savedCard(box);
  assert.match(saved, /^48111111[0-9a-f]{20}1114$/);
  const charge = async (token_id: string) =>
    (await box.charge("card", { credit_card: { token_id } })).status_code;
  assert.equal(await charge(saved), "200");
  assert.equal(await charge(saved), "200");
  const twoClicks = `client_key=${CLIENT_KEY}&token_id=${saved}&card_cvv=123`;
  const { token_id } = await box.get(`/v2/token?${twoClicks}`);
  assert.equal(await charge(token_id), "200");
  assert.equal(await charge(token_id), "411");
});

Deno.test("card charge: can save the card, and then returns the expiry time of the saved token", async () => {
  await using box = await openSandbox();
  const first = await box.charge("card", { credit_card: { save_token_id: true } });
  assert.match(first.saved_token_id, /^48111111[0-9a-f]{20}1114$/);
  assert.match(first.saved_token_id_expired_at, /^20\d\d-/);
  const again = await box.charge("card", {
    credit_card: { token_id: first.saved_token_id, save_token_id: true },
  });
  assert.equal(again.saved_token_id, first.saved_token_id);
  assert.match(again.saved_token_id_expired_at, /^20\d\d-/);
  await box.waitForWebhooks();
  assert.equal(box.hooks[0]!.body.saved_token_id, first.saved_token_id);
});

Deno.test("installment term: is a string in the charge response, a number in the status and the webhook", async () => {
  await using box = await openSandbox();
  const answer = await box.charge("card", { credit_card: { installment_term: 6 } });
  assert.equal(answer.installment_term, "6");
  await box.waitForWebhooks();
  assert.equal((await box.status(answer.order_id)).installment_term, 6);
  assert.equal(box.hooks[0]!.body.installment_term, 6);
});

Deno.test("card charge with a list of BINs: denies all other cards", async () => {
  await using box = await openSandbox();
  const status = async (bins: string[]) =>
    (await box.charge("card", { credit_card: { bins } })).transaction_status;
  assert.equal(await status(["481111"]), "capture");
  assert.equal(await status(["bni", "5"]), "deny");
});

Deno.test("point inquiry: returns the points of a card, 402 for a card without points and 411 for an unknown token", async () => {
  await using box = await openSandbox();
  const inquire = async (token: string) => await box.get(`/v2/point_inquiry/${token}`);
  const { transaction_time, ...answer } = await inquire(await box.token("4617006959746656"));
  assert.match(transaction_time, /^\d{4}-/);
  assert.deepEqual(answer, {
    status_code: "200",
    status_message: "Success, Credit Card Point inquiry is successful",
    point_balance_amount: "10000.00",
  });
  assert.equal((await inquire(await box.token(ACCEPTED_CARD))).status_code, "402");
  assert.equal((await inquire("nothing")).status_code, "411");
});

Deno.test("BIN lookup: returns the bank with the server or client key, and a plain text 401 without a key", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("GET", "/v1/bins/461700");
  assert.equal(http, 200);
  assert.deepEqual(Object.keys(body.data), [
    "country_name",
    "country_code",
    "brand",
    "bin_type",
    "bin_class",
    "bin",
    "bank_code",
    "bank",
    "channel",
    "registration_required",
  ]);
  assert.deepEqual([body.data.brand, body.data.bank_code], ["VISA", "MANDIRI"]);
  const asClient = { Authorization: `Basic ${btoa(`${CLIENT_KEY}:`)}` };
  assert.equal((await box.call("GET", "/v1/bins/461700", undefined, asClient)).http, 200);
  const withoutKey = await box.call("GET", "/v1/bins/461700", undefined, { Authorization: "" });
  assert.deepEqual([withoutKey.http, withoutKey.text], [401, "Unauthorized"]);
  assert.match(withoutKey.headers.get("content-type")!, /^text\/plain/);
  const unknown = await box.call("GET", "/v1/bins/999999");
  assert.equal(unknown.http, 404);
  assert.deepEqual(Object.keys(unknown.body.errors[0]), ["message_title", "message"]);
});

Deno.test("full card numbers: are never stored or returned", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const responses: string[] = [];
    {
      await using box = await openSandbox({ path: `${folder}/kv` });
      const recorded = recordResponses(box, responses);
      const saved = await savedCard(recorded);
      const token_id = await recorded.token("5211111111111117");
      const { transaction_id } = await recorded.charge("card_3ds", {
        credit_card: { token_id, save_token_id: true },
      });
      await recorded.control(`transactions/${transaction_id}/three_ds`);
      await recorded.status(transaction_id);
      await recorded.charge("card", { credit_card: { token_id: saved } });
      await recorded.call("GET", "/_sandbox/transactions");
      await recorded.call("GET", "/_sandbox/webhooks");
      responses.push(...box.hooks.map(({ text }) => text));
    }
    for await (const { name } of Deno.readDir(folder)) {
      responses.push(new TextDecoder("latin1").decode(await Deno.readFile(`${folder}/${name}`)));
    }
    assert.ok(responses.length > 10);
    for (const text of responses) {
      for (const number of [ACCEPTED_CARD, "5211111111111117"]) {
        assert.ok(!text.includes(number));
        // The first 12 digits must not appear either: a masked number has only the first 8.
        assert.doesNotMatch(text, new RegExp(number.slice(0, 12)));
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Makes the sandbox add the text of every response to `responses`; returns the same sandbox. */
function recordResponses(box: TestSandbox, responses: string[]): TestSandbox {
  const call = box.call;
  box.call = async (...args) => {
    const reply = await call(...args);
    responses.push(reply.text);
    return reply;
  };
  return box;
}
