/** Every screen of a running service: the pages of checkouts and payments in all their states. */

import { MAX_ATTEMPTS } from "../../../core/checkouts/schema.ts";
import { checkCheckouts } from "../../../core/checkouts/settle_checkout.ts";
import { CHARGED_METHODS, type Checkout } from "../checkouts/checkouts.ts";
import { CHALLENGED_CARD, type Json } from "../gateway/sandbox.ts";
import { CARDS } from "../gateway/snap.ts";
import { runDueJobs } from "../jobs/due_jobs.ts";
import { manualClock } from "../manual_clock.ts";
import { chargeRequest, parsePayment } from "../payments/payments.ts";
import { openPayService, ORDER, type PayService } from "./service.ts";

const PHONE = { phone: "+628123456789" };
const UNKNOWN_PHONE = { phone: "+628249134000" };
const DAY_SECONDS = 24 * 60 * 60;

/** A service whose `screens` are the addresses of the pages, by name. */
export async function openRunningScreens() {
  const { now, advance } = manualClock();
  const service = await openPayService({ now });
  const screens: Record<string, string> = {};

  async function add(name: string, prepare: (checkout: Checkout) => Promise<unknown>) {
    const checkout = await service.create(ORDER);
    await prepare(checkout);
    screens[name] = checkout.checkout_url!;
    return checkout;
  }

  await add("expired", (checkout) => service.choose(checkout, "bca_va"));
  const late = await add("late", (checkout) => service.choose(checkout, "bni_va"));
  const { transaction_id } = await service.payable(late);
  advance((DAY_SECONDS + 1) * 1_000);
  await checkCheckouts(service.app.service);
  await service.sandbox.control(`transactions/${transaction_id}/pay`);
  await service.sandbox.waitForWebhooks();
  await service.sandbox.advance(DAY_SECONDS + 1);
  await service.sandbox.waitForWebhooks();
  await runDueJobs(service.app);

  await addChoices(service, add);
  for (const method of CHARGED_METHODS) {
    await add(method, (checkout) => service.choose(checkout, method, PHONE));
  }
  await addCards(service, add);
  await add("paid", async (checkout) => {
    await service.choose(checkout, "qris");
    await service.pay(checkout);
    await service.sandbox.waitForWebhooks();
  });
  await add("cancelled", ({ id }) => service.post(`/checkouts/${id}/cancel/`));
  await add("failed", async (checkout) => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      await service.choose(checkout, attempt % 2 === 0 ? "bca_va" : "bni_va");
    }
    await service.change(checkout);
  });
  await addWaiting(service, add);
  screens["processing"] = await challengedCard(service);
  screens["unknown-link"] = `${service.url}/pay/${"A".repeat(44)}`;
  return { ...service, screens };
}

type Add = (name: string, prepare: (checkout: Checkout) => Promise<unknown>) => Promise<Checkout>;

/** The list of methods, with each notice. */
async function addChoices(service: PayService, add: Add): Promise<void> {
  const { sandbox } = service;
  await add("choose", () => Promise.resolve());
  await add("closed", async (checkout) => {
    await service.choose(checkout, "bca_va");
    await service.change(checkout);
  });
  await add("phone-unknown", (checkout) => service.choose(checkout, "ovo", UNKNOWN_PHONE));
  await add("refused", async (checkout) => {
    await sandbox.control("settings", { inactive_payment_types: ["gopay"] }, "PATCH");
    await service.choose(checkout, "gopay");
    await sandbox.control("settings", { inactive_payment_types: [] }, "PATCH");
  });
  await add("attempt-expired", async (checkout) => {
    await service.choose(checkout, "ovo", PHONE);
    await sandbox.advance(120);
    await sandbox.waitForWebhooks();
  });
}

/** The way to the gateway's page, before and after cards that were denied, or are in process. */
async function addCards(service: PayService, add: Add): Promise<void> {
  const tryCard = async ({ order_id }: Checkout, card: Json) => {
    const [{ token }] = await service.sandbox.get(`/_sandbox/snap?order_id=${order_id}`);
    await service.sandbox.control(`snap/${token}/pay`, card);
    await service.sandbox.waitForWebhooks();
    await runDueJobs(service.app);
  };
  const denied = { card_number: CARDS.denied };
  await add("credit_card", (checkout) => service.choose(checkout, "credit_card"));
  await add("card-denied", async (checkout) => {
    await service.choose(checkout, "credit_card");
    await tryCard(checkout, denied);
  });
  await add("cards-denied", async (checkout) => {
    await service.choose(checkout, "credit_card");
    for (let card = 1; card <= 3; card++) await tryCard(checkout, denied);
    await runDueJobs(service.app);
  });
  await add("card-in-process", async (checkout) => {
    await service.choose(checkout, "credit_card");
    await tryCard(checkout, { card_number: CARDS.accepted, three_ds: "abandon" });
  });
  await add("card-closing", async (checkout) => {
    await service.choose(checkout, "credit_card");
    await tryCard(checkout, { card_number: CARDS.accepted, three_ds: "abandon" });
    await service.change(checkout);
  });
}

/** The gateway's answers to a charge and to a closing are lost, and so are its notifications. */
async function addWaiting(service: PayService, add: Add): Promise<void> {
  service.sandbox.receiver.answer = () => new Response(null, { status: 503 });
  await add("starting", async (checkout) => {
    await service.sandbox.fault("charge", "answer_lost");
    await service.choose(checkout, "gopay");
  });
  await add("closing", async (checkout) => {
    await service.choose(checkout, "bca_va");
    await service.sandbox.fault("expire", "answer_lost");
    await service.change(checkout);
  });
}

/** The page of a payment that the fraud review decides about. */
async function challengedCard(service: PayService): Promise<string> {
  const request = await chargeRequest(service.sandbox, "card", CHALLENGED_CARD);
  const payment = await parsePayment(await service.post("/charge/", request), 201);
  return payment.payment_page_url!;
}
