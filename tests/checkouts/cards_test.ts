import assert from "node:assert/strict";
import { checkCheckouts } from "../../core/checkouts/settle_checkout.ts";
import { updateStats } from "../../core/reports/count_payments.ts";
import { openCards, type TestCards } from "../support/checkouts/cards.ts";
import type { Checkout } from "../support/checkouts/checkouts.ts";
import { CHALLENGED_CARD, type Json } from "../support/gateway/sandbox.ts";
import { CARDS } from "../support/gateway/snap.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";

const MINUTE_MS = 60_000;
const DENIED = { card_number: CARDS.denied };
const ABANDONED = { three_ds: "abandon" };

/** Lets time pass for the service and the gateway, and does the work of the schedule. */
async function openLater() {
  const { now, advance } = manualClock();
  const cards = await openCards({ now });
  return {
    ...cards,
    async later(minutes: number) {
      advance(minutes * MINUTE_MS);
      await cards.sandbox.advance(minutes * 60);
      await checkCheckouts(cards.app.service);
      await runDueJobs(cards.app);
    },
  };
}

function screenOf(page: string): string | undefined {
  return page.match(/class="page (?:screen-)?(\w+)"/)?.[1];
}

async function attemptsOf(cards: TestCards, { id }: Checkout): Promise<string[]> {
  const { attempts } = await cards.readCheckout(id);
  return attempts.map(({ method, status }) => `${method} ${status}`);
}

async function pageStates(cards: TestCards, checkout: Checkout): Promise<string[]> {
  return (await cards.pagesOf(checkout)).map(({ state }) => state);
}

Deno.test("card: the checkout links to the gateway's page, which accepts cards only, for half an hour", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  const page = await cards.choose(checkout, "credit_card");
  const [snap, ...others] = await cards.pagesOf(checkout);
  assert.deepEqual(others, []);
  assert.equal(screenOf(page), "card");
  assert.ok(page.includes(`${cards.sandbox.url}/snap/v3/redirection/${snap.token}?language=id`));
  assert.ok((await cards.page(checkout, "?lang=en")).includes(`${snap.token}?language=en`));
  const { enabled_payments, credit_card } = snap.request;
  assert.deepEqual([enabled_payments, credit_card], [["credit_card"], { secure: true }]);
  const minutes = (Date.parse(snap.expires_at) - Date.parse(snap.created_at)) / MINUTE_MS;
  assert.ok(minutes > 25 && minutes <= 30, String(minutes));
  assert.equal(snap.request.callbacks.finish, `${checkout.checkout_url}/return/`);
});

Deno.test("card: before the customer enters a card, the checkout has no payment, and stays open", async () => {
  await using cards = await openLater();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  for (let round = 0; round < 2; round++) await cards.later(14);
  assert.deepEqual(await cards.paymentsOf(checkout), []);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card open"]);
  assert.equal(screenOf(await cards.page(checkout)), "card");
});

Deno.test("card: a payment on the gateway's page pays the checkout, as a payment of its user", async () => {
  await using cards = await openCards();
  const checkout = await cards.create({
    customer_details: { first_name: "Budi", email: "budi@example.com" },
    metadata: { cart: "c-1" },
    item_details: [{ name: "Coffee", price: 75_000, quantity: 2 }],
    custom_fields: ["table 7"],
  });
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout);
  await cards.deliver();
  const paid = await cards.readCheckout(checkout.id);
  assert.deepEqual([paid.status, paid.attempts[0]!.status], ["paid", "paid"]);
  const { payment_type, checkout_id, customer_email, metadata, order_id } = paid.payment!;
  assert.deepEqual([payment_type, checkout_id, customer_email, metadata, order_id], [
    "credit_card",
    checkout.id,
    "budi@example.com",
    { cart: "c-1" },
    checkout.order_id,
  ]);
  assert.deepEqual(paid.payment!.items.map(({ name }) => name), ["Coffee"]);
  assert.equal(paid.payment!.custom_field1, "table 7");
  assert.deepEqual(await cards.events(checkout.id), ["checkout_completed"]);
  assert.equal(screenOf(await cards.page(checkout)), "paid");
});

Deno.test("card: a denied card does not end the attempt, and another card can pay it", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout, DENIED);
  await cards.deliver();
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card open"]);
  assert.match(await cards.page(checkout, "?lang=en"), /The card payment didn’t go through/);
  await cards.payByCard(checkout);
  await cards.deliver();
  assert.deepEqual(await cards.paymentStatuses(checkout), ["deny", "capture"]);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card paid"]);
  assert.equal((await cards.readCheckout(checkout.id)).status, "paid");
});

Deno.test("card: after three denied cards the page is closed, and cards are not offered again", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  for (let card = 1; card <= 3; card++) {
    await cards.payByCard(checkout, DENIED);
    await cards.deliver();
  }
  await runDueJobs(cards.app);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed"]);
  assert.deepEqual(await pageStates(cards, checkout), ["cancelled"]);
  const page = await cards.page(checkout, "?lang=en");
  assert.match(page, /declined several times/);
  assert.doesNotMatch(page, /value="credit_card"/);
  await cards.choose(checkout, "credit_card");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed"]);
  await cards.choose(checkout, "qris");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed", "qris open"]);
});

Deno.test("card: if every notification is lost, the schedule finds the payment", async () => {
  await using cards = await openLater();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout);
  await cards.later(6);
  assert.equal((await cards.readCheckout(checkout.id)).status, "paid");
  assert.deepEqual(await cards.paymentStatuses(checkout), ["capture"]);
});

Deno.test("card: when the customer returns, the service asks the gateway and ignores what the address says", async () => {
  await using cards = await openCards();
  for (
    const [more, said, expected] of [
      [{}, "deny", "paid"],
      [DENIED, "capture", "card"],
      [ABANDONED, "settlement", "card"],
    ] as const
  ) {
    const checkout = await cards.create();
    await cards.choose(checkout, "credit_card");
    await cards.payByCard(checkout, more);
    const query = `?order_id=other&status_code=200&transaction_status=${said}`;
    const url = new URL(`${checkout.checkout_url}/return/${query}`);
    const response = await cards.app.fetchUnchecked(new Request(url));
    assert.deepEqual(
      [response.status, response.headers.get("location")],
      [303, new URL(checkout.checkout_url!).pathname],
    );
    assert.equal(screenOf(await cards.page(checkout)), expected, said);
  }
});

Deno.test("card: a page that expired without a card ends the attempt, and the customer can choose again", async () => {
  await using cards = await openLater();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.later(29);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card open"]);
  await cards.later(4);
  assert.deepEqual(await pageStates(cards, checkout), ["cancelled"]);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed"]);
  const page = await cards.page(checkout, "?lang=en");
  assert.match(page, /The time to pay by card has run out/);
  await cards.choose(checkout, "credit_card");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed", "credit_card open"]);
  assert.deepEqual(await pageStates(cards, checkout), ["cancelled", "open"]);
});

Deno.test("card: choosing cards again after the page has ended, before the scheduled check, opens a new page", async () => {
  const { now, advance } = manualClock();
  await using cards = await openCards({ now });
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  advance(32 * MINUTE_MS);
  await cards.sandbox.advance(32 * 60);
  await cards.choose(checkout, "credit_card");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed", "credit_card open"]);
  assert.deepEqual(await pageStates(cards, checkout), ["cancelled", "open"]);
});

/** What the gateway does with the call that cancels a page. */
const CANCELLATIONS: Record<string, (cards: TestCards) => Promise<unknown>> = {
  works: () => Promise.resolve(),
  "does not exist": ({ sandbox }) =>
    sandbox.control("settings", { snap_cancel: "missing" }, "PATCH"),
  "loses its answer": ({ sandbox }) => sandbox.fault("snap_cancel", "answer_lost"),
  "fails before it does anything": ({ sandbox }) => sandbox.fault("snap_cancel", "error_500"),
  "is cut off before it does anything": ({ sandbox }) => sandbox.fault("snap_cancel", "reset"),
};

for (const [what, arrange] of Object.entries(CANCELLATIONS)) {
  Deno.test(`card, then QRIS: if the gateway's call to cancel a page ${what}, the page is unusable before QRIS is charged`, async () => {
    await using cards = await openCards();
    const checkout = await cards.create();
    await cards.choose(checkout, "credit_card");
    const [page] = await cards.pagesOf(checkout);
    await arrange(cards);
    await cards.choose(checkout, "qris");
    assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed", "qris open"]);
    const { http } = await cards.sandbox.call("POST", `/_sandbox/snap/${page.token}/pay`, {
      card_number: CARDS.accepted,
    });
    assert.equal(http, 409);
    const open = (await cards.pagesOf(checkout)).filter(({ state }) => state === "open");
    // The customer never saw the page that replaced the first; it is cancelled if that works.
    assert.equal(open.length, what === "does not exist" ? 1 : 0);
    assert.ok(open.every(({ token }) => token !== page.token));
  });
}

Deno.test("card, then QRIS: while the bank checks the card, the checkout waits; an accepted card pays it", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  const { transaction } = await cards.payByCard(checkout, ABANDONED);
  assert.equal(screenOf(await cards.choose(checkout, "qris")), "waiting");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closing"]);
  await cards.sandbox.control(`transactions/${transaction.transaction_id}/pay`);
  await cards.deliver();
  const { status, attempts } = await cards.readCheckout(checkout.id);
  assert.deepEqual([status, attempts.length], ["paid", 1]);
});

Deno.test("card, then QRIS: an abandoned 3-D Secure ends after 15 minutes, then QRIS can be charged", async () => {
  await using cards = await openLater();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout, ABANDONED);
  await cards.choose(checkout, "qris");
  await cards.later(16);
  await cards.deliver();
  await cards.later(2);
  assert.deepEqual(await cards.paymentStatuses(checkout), ["expire"]);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed"]);
  assert.deepEqual(await pageStates(cards, checkout), ["cancelled"]);
  await cards.choose(checkout, "qris");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed", "qris open"]);
});

Deno.test("card, then QRIS: if the page of a denied card can neither be cancelled nor replaced, QRIS waits for its end", async () => {
  await using cards = await openLater();
  const { sandbox } = cards;
  await sandbox.control("settings", { snap_cancel: "missing" }, "PATCH");
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout, DENIED);
  await cards.choose(checkout, "qris");
  await cards.later(35);
  await cards.choose(checkout, "qris");
  // A card that was tried last can wait for the customer at the bank.
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closing"]);
  await cards.later(15);
  assert.deepEqual(await pageStates(cards, checkout), ["expired"]);
  await cards.choose(checkout, "qris");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed", "qris open"]);
});

Deno.test("card: if the response to the page request is lost, no customer sees that page, and the customer can choose again", async () => {
  await using cards = await openLater();
  const checkout = await cards.create();
  await cards.sandbox.fault("snap_create", "answer_lost");
  assert.equal(screenOf(await cards.choose(checkout, "credit_card")), "waiting");
  assert.equal(screenOf(await cards.choose(checkout, "credit_card")), "waiting");
  await cards.later(2);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed"]);
  await cards.choose(checkout, "credit_card");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed", "credit_card open"]);
});

Deno.test("card: if the account has no cards, the page says so and does not offer them again", async () => {
  await using cards = await openCards();
  const settings = { inactive_payment_types: ["credit_card"] };
  await cards.sandbox.control("settings", settings, "PATCH");
  const checkout = await cards.create();
  const page = await cards.choose(checkout, "credit_card");
  assert.equal(screenOf(page), "choose");
  assert.doesNotMatch(page, /value="credit_card"/);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed"]);
});

Deno.test("card: devices that choose it at the same moment get the same page", async () => {
  await using cards = await openCards({ poolSize: 8 });
  for (let round = 0; round < 5; round++) {
    const checkout = await cards.create();
    await Promise.all(Array.from({ length: 5 }, () => cards.choose(checkout, "credit_card")));
    const [page, ...others] = await cards.pagesOf(checkout);
    assert.deepEqual(others, []);
    assert.ok((await cards.page(checkout)).includes(page.token));
    assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card open"]);
  }
});

Deno.test("card: cancelling the checkout closes the page", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  const response = await cards.post(`/checkouts/${checkout.id}/cancel/`);
  assert.equal(response.status, 200, await response.clone().text());
  assert.equal((await response.json()).status, "cancelled");
  assert.deepEqual(await pageStates(cards, checkout), ["cancelled"]);
});

Deno.test("card: the page ends with the checkout, and the checkout expires", async () => {
  await using cards = await openLater();
  const now = cards.app.service.clock();
  const checkout = await cards.create({
    expires_at: new Date(now + 10 * MINUTE_MS).toISOString(),
  });
  await cards.choose(checkout, "credit_card");
  const [page] = await cards.pagesOf(checkout);
  assert.ok(Date.parse(page.expires_at) <= Date.parse(checkout.expires_at));
  await cards.later(12);
  await cards.later(2);
  assert.equal((await cards.readCheckout(checkout.id)).status, "expired");
});

Deno.test("card: is not offered if too little time is left for a page", async () => {
  await using cards = await openCards();
  const expires_at = new Date(Date.now() + 5 * MINUTE_MS).toISOString();
  const checkout = await cards.create({ expires_at });
  assert.doesNotMatch(await cards.page(checkout), /value="credit_card"/);
});

Deno.test("card: a second card that was paid for the same checkout is flagged", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.choose(checkout, "qris");
  const [qris] = await cards.transactionsOf(checkout);
  await cards.sandbox.control(`transactions/${qris.transaction_id}/pay`);
  await cards.refresh((await cards.paymentsOf(checkout))[0]!.id);
  // A page that the gateway had confirmed as closed was paid all the same.
  const token_id = await cards.sandbox.token(CARDS.accepted);
  await cards.sandbox.post("/v2/charge", {
    payment_type: "credit_card",
    transaction_details: { order_id: checkout.order_id, gross_amount: 150_000 },
    credit_card: { token_id },
  });
  await cards.deliver();
  const { status, extra_payment_id, payment_id } = await cards.readCheckout(checkout.id);
  assert.equal(status, "paid");
  assert.ok(extra_payment_id !== null && extra_payment_id !== payment_id);
});

Deno.test("card: a transaction with another amount or type does not belong to the checkout", async () => {
  await using cards = await openCards();
  for (const change of [{ gross_amount: 149_000 }, { payment_type: "qris" }]) {
    const checkout = await cards.create();
    await cards.choose(checkout, "credit_card");
    const { payment_type = "credit_card", gross_amount = 150_000 } = change as {
      payment_type?: string;
      gross_amount?: number;
    };
    await cards.sandbox.post("/v2/charge", {
      payment_type,
      transaction_details: { order_id: checkout.order_id, gross_amount },
      ...payment_type === "credit_card" && {
        credit_card: { token_id: await cards.sandbox.token(CARDS.accepted) },
      },
    });
    await cards.deliver();
    assert.deepEqual(await cards.paymentsOf(checkout), []);
    assert.equal((await cards.readCheckout(checkout.id)).status, "open");
  }
});

Deno.test("card under review: the checkout is in process until staff accept or deny it", async () => {
  for (const action of ["approve", "deny"]) {
    await using cards = await openCards();
    const checkout = await cards.create();
    await cards.choose(checkout, "credit_card");
    await cards.payByCard(checkout, { card_number: CHALLENGED_CARD });
    await cards.deliver();
    assert.equal((await cards.readCheckout(checkout.id)).status, "processing");
    const [payment] = await cards.paymentsOf(checkout);
    const staff = await cards.app.createKey({ isStaff: true });
    const reply = await cards.post(`/reviews/${payment!.id}/${action}/`, {}, {}, staff);
    assert.equal(reply.status, 200, await reply.text());
    await cards.deliver();
    const { status } = await cards.readCheckout(checkout.id);
    assert.equal(status, action === "approve" ? "paid" : "open");
  }
});

Deno.test("card: its payment can be refunded, and is listed with the card payments", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout);
  await cards.deliver();
  const [payment] = await cards.paymentsOf(checkout);
  await cards.sandbox.control("settle");
  await cards.refresh(payment!.id);
  const refund = await cards.post(`/payments/${payment!.id}/refund/`, { amount: 50_000 });
  assert.equal(refund.status, 200, await refund.clone().text());
  assert.equal((await cards.read(payment!.id)).transaction_status, "partial_refund");
  const listed = await (await cards.get("/payments/?payment_type=credit_card")).json();
  assert.deepEqual(listed.map(({ id }: { id: string }) => id), [payment!.id]);
});

Deno.test("card: its payment can be charged back, and is counted in the statistics of cards", async () => {
  await using cards = await openCards();
  // Read first: the day can end during the test.
  const today = new Date(cards.app.service.clock()).toISOString().slice(0, 10);
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout);
  await cards.deliver();
  const [payment] = await cards.paymentsOf(checkout);
  await cards.sandbox.control("settle");
  await cards.refresh(payment!.id);
  await updateStats(cards.app.service);
  const stats = await cards.get(`/stats/payments/?from=${today}&group_by=payment_type`);
  assert.equal(stats.status, 200, await stats.clone().text());
  const { rows } = await stats.json();
  assert.deepEqual(
    rows.map((row: Json) => [row.payment_type, row.paid_count, row.gross_amount]),
    [["credit_card", 1, "150000.00"]],
  );
  await cards.sandbox.control(`transactions/${checkout.order_id}/chargeback`);
  await cards.deliver();
  assert.equal((await cards.refresh(payment!.id)).transaction_status, "chargeback");
});

Deno.test("card: the page's token is stored encrypted; if it cannot be decrypted, a change of method still closes the page", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  const [{ token }] = await cards.pagesOf(checkout) as [{ token: string }];
  const rows = await cards.app.database.query((sql) =>
    sql`select row_to_json(attempt)::text as text from gateway.checkout_attempts attempt`
  );
  assert.ok(rows.every(({ text }) => !text.includes(token)));
  const response = await cards.get(`/checkouts/${checkout.id}/`);
  assert.ok(!(await response.text()).includes(token));
  // As if another server key had encrypted it.
  await cards.app.database.query((sql) =>
    sql`update gateway.checkout_attempts set page = 'unreadable'`
  );
  await cards.choose(checkout, "qris");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed", "qris open"]);
  assert.deepEqual(await pageStates(cards, checkout), ["replaced", "cancelled"]);
});

Deno.test("card: after a change of the server key, the page is closed and the customer can choose again", async () => {
  await using cards = await openLater();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.app.database.query((sql) =>
    sql`update gateway.checkout_attempts set page = 'unreadable'`
  );
  await cards.later(6);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed"]);
  assert.deepEqual(await pageStates(cards, checkout), ["replaced", "cancelled"]);
  assert.equal(screenOf(await cards.choose(checkout, "credit_card")), "card");
});

Deno.test("card: a transaction that includes a fee pays the checkout with the checkout's amount", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.sandbox.post("/v2/charge", {
    payment_type: "credit_card",
    transaction_details: { order_id: checkout.order_id, gross_amount: 151_057 },
    credit_card: { token_id: await cards.sandbox.token(CARDS.accepted) },
  });
  await cards.deliver();
  const { status, payment } = await cards.readCheckout(checkout.id);
  assert.deepEqual([status, payment?.gross_amount], ["paid", "150000.00"]);
});

Deno.test("card: while the gateway reports a status that the service does not know, nothing else can be paid", async () => {
  await using cards = await openLater();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout);
  const { gateway, background } = cards.app.service;
  for (const client of [gateway, background]) {
    const { getStatus } = client;
    client.getStatus = async (id, options) => {
      const response = await getStatus(id, options);
      return { ...response, body: { ...response.body, transaction_status: "in_review" } };
    };
  }
  for (let round = 0; round < 4; round++) await cards.later(20);
  await cards.choose(checkout, "qris");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closing"]);
});

Deno.test("card: if the service's clock is wrong, the end of the page is not decided by time", async () => {
  const { now, advance } = manualClock();
  await using cards = await openCards({ now });
  await cards.sandbox.control("settings", { snap_cancel: "missing" }, "PATCH");
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout, DENIED);
  // The gateway's page has not ended yet: the service's clock is ahead.
  advance(70 * MINUTE_MS);
  const { clockCheck } = cards.app.service;
  const state = await clockCheck.measure();
  clockCheck.measure = () => Promise.resolve({ ...state, gateway: 70 * MINUTE_MS });
  await checkCheckouts(cards.app.service);
  await runDueJobs(cards.app);
  await cards.choose(checkout, "qris");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closing"]);
  assert.deepEqual(await pageStates(cards, checkout), ["open"]);
});

Deno.test("card: if the service stops before it asks for the page, and the account has no cards, the customer can choose again", async () => {
  await using cards = await openLater();
  const settings = { inactive_payment_types: ["credit_card"] };
  await cards.sandbox.control("settings", settings, "PATCH");
  const checkout = await cards.create();
  const { gateway } = cards.app.service;
  const { createSnapPage } = gateway;
  gateway.createSnapPage = () => Promise.reject(new Error("the process ends here"));
  await assert.rejects(cards.choose(checkout, "credit_card"));
  gateway.createSnapPage = createSnapPage;
  await cards.later(2);
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closed"]);
  assert.equal(screenOf(await cards.choose(checkout, "qris")), "instructions");
});

Deno.test("card: a refusal that arrives late does not end an attempt whose page another call has opened", async () => {
  const { now, advance } = manualClock();
  await using cards = await openCards({ now });
  const checkout = await cards.create();
  const { gateway } = cards.app.service;
  const { createSnapPage } = gateway;
  const held = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  gateway.createSnapPage = async (...args) => {
    gateway.createSnapPage = createSnapPage;
    isHeld.resolve();
    await held.promise;
    return await createSnapPage(...args);
  };
  const first = cards.choose(checkout, "credit_card");
  await isHeld.promise;
  advance(2 * MINUTE_MS);
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout, ABANDONED);
  held.resolve();
  await first;
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card open"]);
  await cards.choose(checkout, "qris");
  assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card closing"]);
});

Deno.test("card: customers who ask again and again make one request to the gateway in a second", async () => {
  const { now, advance } = manualClock();
  await using cards = await openCards({ now });
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  const { gateway } = cards.app.service;
  const { getStatus } = gateway;
  let requests = 0;
  gateway.getStatus = (...args) => {
    requests++;
    return getStatus(...args);
  };
  const ask = async () => {
    const url = new URL(`${checkout.checkout_url}/return/`);
    await (await cards.app.fetchUnchecked(new Request(url))).body?.cancel();
  };
  await Promise.all(Array.from({ length: 20 }, ask));
  assert.equal(requests, 1);
  advance(1_000);
  await ask();
  assert.equal(requests, 2);
});

Deno.test("card under review: while staff have not decided, the gateway is not asked for other cards", async () => {
  await using cards = await openLater();
  const expires_at = new Date(cards.app.service.clock() + 20 * MINUTE_MS).toISOString();
  const checkout = await cards.create({ expires_at });
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout, { card_number: CHALLENGED_CARD });
  await cards.deliver();
  const { gateway, background } = cards.app.service;
  let requests = 0;
  for (const client of [gateway, background]) {
    const { getStatus, cancelSnapPage } = client;
    client.getStatus = (...args) => (requests++, getStatus(...args));
    client.cancelSnapPage = (...args) => (requests++, cancelSnapPage(...args));
  }
  for (let round = 0; round < 5; round++) await cards.later(10);
  assert.deepEqual([requests, (await cards.readCheckout(checkout.id)).status], [0, "processing"]);
});

Deno.test("card: after the account refused the page, the schedule looks at the checkout only when it ends", async () => {
  await using cards = await openCards();
  const settings = { inactive_payment_types: ["credit_card"] };
  await cards.sandbox.control("settings", settings, "PATCH");
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  const [row] = await cards.app.database.query((sql) =>
    sql`select check_at from gateway.checkouts where id = ${checkout.id}`
  );
  assert.equal(row!.check_at.toISOString(), checkout.expires_at);
});

Deno.test("card: an authorization that was first reported as pending can be captured in part", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  const token_id = await cards.sandbox.token(CARDS.accepted);
  await cards.sandbox.post("/v2/charge", {
    payment_type: "credit_card",
    transaction_details: { order_id: checkout.order_id, gross_amount: 150_000 },
    credit_card: { token_id, authentication: true, type: "authorize" },
  });
  await cards.deliver();
  const [{ transaction_id }] = await cards.transactionsOf(checkout) as [{ transaction_id: string }];
  await cards.sandbox.control(`transactions/${transaction_id}/pay`);
  await cards.deliver();
  assert.equal((await cards.readCheckout(checkout.id)).status, "processing");
  const [payment] = await cards.paymentsOf(checkout);
  const reply = await cards.post(`/payments/${payment!.id}/capture/`, { amount: 100_000 });
  assert.equal(reply.status, 200, await reply.clone().text());
  const { transaction_status, captured_amount } = await cards.read(payment!.id);
  assert.deepEqual([transaction_status, captured_amount], ["capture", "100000.00"]);
  await runDueJobs(cards.app);
  assert.equal((await cards.readCheckout(checkout.id)).status, "paid");
  const page = await cards.page(checkout, "?lang=en");
  assert.match(page, /<p class="sum">Rp\s100[.,]000<\/p>/);
  assert.match(page, /<dt>Amount paid<\/dt><dd>Rp\s100[.,]000<\/dd>/);
});

Deno.test("card: the receipt has the time of the payment, and not that of the payout", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  await cards.payByCard(checkout);
  await cards.deliver();
  await cards.app.database.query((sql) =>
    sql`update gateway.payments set paid_at = '2026-11-16T13:00:00Z',
      settlement_time = '2026-11-17T09:00:00Z' where checkout_id = ${checkout.id}`
  );
  assert.match(await cards.page(checkout, "?lang=en"), /16 Nov 2026, 20[.:]00 WIB/);
});

Deno.test("card: the page's state is the same in both languages, so an update finds nothing new", async () => {
  await using cards = await openCards();
  const checkout = await cards.create();
  await cards.choose(checkout, "credit_card");
  const states = await Promise.all(["id", "en"].map(async (language) => {
    const page = await cards.page(checkout, `?lang=${language}`);
    return page.match(/data-state="([^"]+)"/)?.[1];
  }));
  assert.ok(states[0]);
  assert.equal(states[0], states[1]);
});

Deno.test("card: a visit to the address for failed cards closes nothing without a denied card", async () => {
  await using cards = await openCards();
  for (const more of [null, ABANDONED]) {
    const checkout = await cards.create();
    await cards.choose(checkout, "credit_card");
    if (more) await cards.payByCard(checkout, more);
    const url = new URL(`${checkout.checkout_url}/failed/`);
    assert.equal((await cards.app.fetchUnchecked(new Request(url))).status, 303);
    assert.deepEqual(await attemptsOf(cards, checkout), ["credit_card open"]);
  }
});

Deno.test("card: items are left out of a request that would be too long for the gateway", async () => {
  await using cards = await openCards();
  const item = {
    name: "W".repeat(50),
    price: 1_000,
    quantity: 1,
    url: `https://a.b/${"x".repeat(180)}`,
  };
  for (const count of [20, 60]) {
    const item_details = Array.from({ length: count }, (_, i) => ({ id: `item-${i}`, ...item }));
    const checkout = await cards.create({ gross_amount: 1_000 * count, item_details });
    await cards.choose(checkout, "credit_card");
    const [page] = await cards.pagesOf(checkout);
    assert.equal(page.request.item_details?.length, count === 20 ? 20 : undefined);
  }
});
