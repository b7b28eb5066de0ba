/**
 * The gateway's own page for cards (Snap). The customer enters the card there, so no card number
 * reaches this service. An attempt with a card has no payment until the gateway reports a
 * transaction, and it can have several: a denied card can be followed by another.
 */

import type { CheckoutAttempt, GatewayCheckout } from "../../db/billing/checkouts.ts";
import {
  GatewayError,
  isTransactionNotFound,
  isUnansweredOrRateLimited,
} from "../gateway/errors.ts";
import { notificationUrl } from "../gateway/notification_url.ts";
import type { SnapPayload } from "../gateway/operations.ts";
import type { Transaction } from "../gateway/responses.ts";
import { formatWib } from "../gateway/times.ts";
import { adoptTransaction, canAdopt } from "../payments/adopt.ts";
import { canGiveUp } from "../payments/check_payment_status.ts";
import { EXPIRY_GRACE_MS, nextCheck, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import type { Change } from "../records/record.ts";
import type { Service } from "../service.ts";
import { changeCheckout, readCheckoutPayments, settleLaterJob } from "./checkout_record.ts";
import { linkToCheckout } from "./link.ts";
import { METHODS } from "./methods.ts";
import { checkoutUrl } from "./read.ts";
import { isCardAttempt, isPayable, openAttempt, paymentsOf, wasPaid } from "./states.ts";

const MINUTE_MS = 60_000;

/** The longest request that the gateway accepts. */
const MAX_REQUEST_BYTES = 16_000;

/** The longest address to return to that the gateway accepts. */
const MAX_RETURN_URL = 255;

interface Page {
  token: string;
  url: string;
}

/** The page is open, another call is opening it, the gateway gave no answer, or it refused. */
interface OpenedPage {
  checkout: GatewayCheckout;
  /** Why the gateway made no page. The attempt has ended then. */
  refusal: GatewayError | null;
}

/** Opens the page of the attempt, unless it is open already or another call is opening it. */
export async function openCardPage(
  service: Service,
  known: GatewayCheckout,
  { id }: CheckoutAttempt,
): Promise<OpenedPage> {
  const now = new Date(service.clock());
  let hasClaimed = false;
  const claimed = await changeCheckout(service, known, (current) => {
    const attempt = openAttempt(current);
    hasClaimed = attempt?.id === id && !attempt.is_closing && attempt.page === null &&
      !isBeingOpened(attempt, now.getTime());
    if (!hasClaimed) return null;
    const minutes = pageMinutes(current, now);
    const page_ends_at = new Date(now.getTime() + minutes * MINUTE_MS + EXPIRY_GRACE_MS);
    return {
      attempts: [{ ...attempt!, page_requested_at: now, page_ends_at }],
      set: { check_at: checkTime(current, attempt!, now) },
      jobs: [settleLaterJob(current, now)],
    };
  });
  const attempt = openAttempt(claimed);
  // If this process was paused, another call may have opened the page, and the customer may use it.
  if (!hasClaimed || !attempt || !isBeingOpened(attempt, service.clock())) {
    return { checkout: claimed, refusal: null };
  }
  try {
    const page = await createPage(service, claimed, attempt);
    const checkout = page ? await storePage(service, claimed, attempt, page) : claimed;
    return { checkout, refusal: null };
  } catch (refusal) {
    if (!(refusal instanceof GatewayError)) throw refusal;
    return await endRefused(service, claimed, attempt, refusal);
  }
}

/** Ends the attempt that the gateway refused, unless another call has opened its page meanwhile. */
async function endRefused(
  service: Service,
  known: GatewayCheckout,
  claimed: CheckoutAttempt,
  refusal: GatewayError,
): Promise<OpenedPage> {
  let isEnded = false;
  const checkout = await changeCheckout(service, known, (current) => {
    const open = openAttempt(current);
    isEnded = open !== null && isStillClaimed(open, claimed);
    return isEnded ? endOf(current, open!, service.clock(), null) : null;
  });
  return { checkout, refusal: isEnded ? refusal : null };
}

/** Whether no other call has opened the page since this one began. */
function isStillClaimed(open: CheckoutAttempt, claimed: CheckoutAttempt): boolean {
  return open.id === claimed.id && open.page === null &&
    open.page_requested_at?.getTime() === claimed.page_requested_at!.getTime();
}

/** The end of an attempt by card. */
function endOf(
  { expires_at }: GatewayCheckout,
  attempt: CheckoutAttempt,
  now: number,
  result: string | null,
): Change<GatewayCheckout> {
  const ended = { ...attempt, closed_at: new Date(now), result };
  return { attempts: [ended], set: { check_at: expires_at } };
}

/** When to ask the gateway next, in case a notification is lost. */
function checkTime({ expires_at }: GatewayCheckout, attempt: CheckoutAttempt, now: Date): Date {
  const next = nextCheck(attempt.created_at, now, attempt.page_ends_at);
  return next < expires_at ? next : expires_at;
}

/** Whether a call has begun to open the page, and may still get the gateway's answer. */
function isBeingOpened({ page, page_requested_at }: CheckoutAttempt, now: number): boolean {
  return page === null && page_requested_at !== null &&
    now - page_requested_at.getTime() < UNANSWERED_CHECK_MS;
}

/** The shortest time of a page that the gateway accepts. */
const MIN_MINUTES = 5;

/** How long the page can be used, in minutes. */
function pageMinutes({ expires_at }: GatewayCheckout, now: Date): number {
  const seconds = (expires_at.getTime() - now.getTime()) / 1_000;
  const minutes = Math.floor(Math.min(seconds, METHODS.credit_card.expiry.most) / 60);
  return Math.max(minutes, MIN_MINUTES);
}

/** Null: it is not known whether the gateway has made the page. */
async function createPage(
  service: Service,
  checkout: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<Page | null> {
  const { gateway, links } = service;
  try {
    const { body } = await gateway.createSnapPage(pageRequest(service, checkout, attempt), {
      notificationUrl: notificationUrl(links.publicUrl(), gateway.baseUrl),
    });
    const { token, redirect_url } = body;
    return token && redirect_url ? { token, url: redirect_url } : null;
  } catch (error) {
    const isUnknown = error instanceof GatewayError &&
      (error.outcome === "unknown" || isUnansweredOrRateLimited(error));
    if (isUnknown) return null;
    throw error;
  }
}

/** The request for the page, without the items if it would be too long with them. */
function pageRequest(
  service: Service,
  checkout: GatewayCheckout,
  { order_id, page_requested_at }: CheckoutAttempt,
): SnapPayload {
  const { gross_amount, customer_details, item_details, custom_fields } = checkout;
  const pageUrl = checkoutUrl(service, checkout.id);
  const callbacks = { finish: `${pageUrl}/return/`, error: `${pageUrl}/failed/` };
  const hasReturn = pageUrl !== null && callbacks.finish.length <= MAX_RETURN_URL;
  const request = {
    transaction_details: { order_id, gross_amount },
    enabled_payments: ["credit_card"],
    credit_card: { secure: true },
    ...customer_details && { customer_details },
    ...Object.fromEntries(
      (custom_fields ?? []).map((text, index) => [`custom_field${index + 1}`, text]),
    ),
    // Without a start, the time would begin only when the customer has entered a card.
    expiry: {
      start_time: formatWib(page_requested_at!),
      duration: pageMinutes(checkout, page_requested_at!),
      unit: "minute",
    },
    ...hasReturn && { callbacks },
  };
  const withItems = { ...request, ...item_details && { item_details } };
  const length = new TextEncoder().encode(JSON.stringify(withItems)).length;
  return length <= MAX_REQUEST_BYTES ? withItems : request;
}

/** If the attempt was closed meanwhile, cancels the page, which no customer has seen. */
async function storePage(
  service: Service,
  known: GatewayCheckout,
  claimed: CheckoutAttempt,
  page: Page,
): Promise<GatewayCheckout> {
  let isStored = false;
  const stored = await changeCheckout(service, known, (current) => {
    const attempt = openAttempt(current);
    isStored = attempt !== null && !attempt.is_closing && isStillClaimed(attempt, claimed);
    if (!isStored) return null;
    const sealed = service.secrets.seal(JSON.stringify(page), contextOf(claimed.id));
    return { attempts: [{ ...attempt!, page: sealed }] };
  });
  if (!isStored) await cancelPage(service, page.token);
  return stored;
}

/** Binds the encrypted page to its attempt: it cannot be opened in another row. */
function contextOf(attemptId: string): string {
  return `checkout_attempt:${attemptId}`;
}

/** Null: it has no page, or the server key has changed since it was opened. */
function pageOf({ secrets }: Service, { id, page }: CheckoutAttempt): Page | null {
  const opened = page === null ? null : secrets.open(page, contextOf(id));
  return opened === null ? null : JSON.parse(opened);
}

/**
 * Where the customer enters the card; null: the page is not open yet, or it cannot be decrypted
 * because the server key has changed.
 */
export function cardPageUrl(service: Service, attempt: CheckoutAttempt): string | null {
  return pageOf(service, attempt)?.url ?? null;
}

/** Until when the customer can use the page. */
export function cardDeadline({ page_ends_at }: CheckoutAttempt): Date {
  return new Date(page_ends_at!.getTime() - EXPIRY_GRACE_MS);
}

/** Whether the page has certainly ended. */
export function hasPageEnded({ page_ends_at }: CheckoutAttempt, now: number): boolean {
  return page_ends_at !== null && page_ends_at.getTime() <= now;
}

/**
 * Whether the customer cannot be sent to the page: the request that opens it was cut off, or the
 * server key has changed.
 */
export function isPageLost(service: Service, attempt: CheckoutAttempt): boolean {
  if (attempt.page !== null) return pageOf(service, attempt) === null;
  const startedAt = attempt.page_requested_at ?? attempt.created_at;
  return service.clock() - startedAt.getTime() >= UNANSWERED_CHECK_MS;
}

/** Customers can ask again and again; the gateway is asked once in this time. */
const BETWEEN_CHECKS_MS = 1_000;

/**
 * Asks the gateway for the newest transaction of the attempt by card, and stores it as a payment.
 * Payments under review have checks of their own.
 */
export async function checkCardPage(
  service: Service,
  known: GatewayCheckout,
): Promise<GatewayCheckout> {
  const now = new Date(service.clock());
  let isDue = false;
  const claimed = await changeCheckout(service, known, (current) => {
    const attempt = openAttempt(current);
    isDue = attempt !== null && isCardAttempt(attempt) && current.status === "open" &&
      !wasJustChecked(attempt, now);
    if (!isDue) return null;
    return {
      attempts: [{ ...attempt!, page_checked_at: now }],
      ...current.expires_at > now && { set: { check_at: checkTime(current, attempt!, now) } },
    };
  });
  const attempt = openAttempt(claimed);
  if (isDue && attempt) await storeNewest(service, claimed, attempt);
  return claimed;
}

function wasJustChecked({ page_checked_at }: CheckoutAttempt, now: Date): boolean {
  return page_checked_at !== null &&
    Math.abs(now.getTime() - page_checked_at.getTime()) < BETWEEN_CHECKS_MS;
}

/** What the gateway says about the newest transaction of an attempt. */
type Newest =
  /** The customer has not entered a card. */
  | "none"
  | "stored"
  /** Its amount, type or status does not fit, so it is not clear whether the order is paid. */
  | "unclear"
  /** The gateway gave no usable answer. */
  | "unknown";

async function storeNewest(
  service: Service,
  checkout: GatewayCheckout,
  { order_id }: CheckoutAttempt,
): Promise<Newest> {
  try {
    const answer = await findNewest(service, order_id);
    if (!answer) return "none";
    const link = linkToCheckout(checkout, answer);
    if (!link || !canAdopt(answer)) {
      service.log.info("card_transaction_unclear", { checkout_id: checkout.id, order_id });
      return "unclear";
    }
    await adoptTransaction(service, { answer, source: "check_status" }, link);
    return "stored";
  } catch (error) {
    if (error instanceof GatewayError) return "unknown";
    throw error;
  }
}

/**
 * Null: the gateway has none. An order can have several transactions, so the newest is requested
 * again by its own id.
 */
async function findNewest({ gateway }: Service, order_id: string): Promise<Transaction | null> {
  let newest: Transaction;
  try {
    newest = (await gateway.getStatus(order_id)).body;
  } catch (error) {
    if (isTransactionNotFound(error)) return null;
    throw error;
  }
  if ((newest.order_id ?? order_id) !== order_id || !newest.transaction_id) return newest;
  const { body } = await gateway.getStatus(newest.transaction_id);
  return { ...body, order_id: body.order_id ?? order_id };
}

/**
 * Makes the page unusable, and ends the attempt if nothing can be paid. Returns the checkout, with
 * the attempt still open if the gateway has not confirmed that, or if a card is in process.
 */
export async function closeCardPage(
  service: Service,
  known: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<GatewayCheckout> {
  // No customer has seen a page, and none will: the attempt is marked as closing.
  if (attempt.page === null) return await endAttempt(service, known, attempt);
  // A payment that waits for the customer or the bank has checks of its own.
  if (await hasOpenPayment(service, known, attempt)) return known;
  const page = pageOf(service, attempt);
  const isCancelled = attempt.is_page_closed ||
    (page !== null && await cancelPage(service, page.token));
  if (!isCancelled) {
    // The call may not exist, its answer may be lost, or a card is in process.
    const newest = await storeNewest(service, known, attempt);
    if (newest === "unknown" || await hasOpenPayment(service, known, attempt)) return known;
    const isOver = await replacePage(service, known, attempt) ||
      await hasEndedByTime(service, known, attempt);
    if (!isOver) return known;
  }
  const closed = await markPageClosed(service, known, attempt);
  const newest = await storeNewest(service, closed, attempt);
  const isUnclear = newest === "unknown" ||
    (newest === "unclear" && !isForgotten(service, attempt));
  if (isUnclear || await hasOpenPayment(service, closed, attempt)) return closed;
  return await endAttempt(service, closed, attempt);
}

async function hasOpenPayment(
  service: Service,
  checkout: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<boolean> {
  const payments = paymentsOf(attempt, await readCheckoutPayments(service, checkout));
  return payments.some((each) => isPayable(each) || wasPaid(each));
}

/** Whether the gateway has confirmed that the page is cancelled. */
async function cancelPage({ gateway }: Service, token: string): Promise<boolean> {
  try {
    return (await gateway.cancelSnapPage(token)).body.canceled_at !== null;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/**
 * Creates another page with the same order id, which makes the first one unusable, and shows it to
 * no one. False: the gateway has not confirmed that.
 */
async function replacePage(
  service: Service,
  checkout: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<boolean> {
  const now = new Date(service.clock());
  try {
    const page = await createPage(service, checkout, { ...attempt, page_requested_at: now });
    if (page) await cancelPage(service, page.token);
    return page !== null;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/** How long a card that was tried can wait at the bank for the customer after the page's end. */
const BANK_MS = 15 * MINUTE_MS;

/** Whether the page has ended by itself, if the clocks and the account allow to decide that. */
async function hasEndedByTime(
  service: Service,
  checkout: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<boolean> {
  const payments = paymentsOf(attempt, await readCheckoutPayments(service, checkout));
  const extraMs = payments.length > 0 ? BANK_MS : 0;
  return hasPageEnded(attempt, service.clock() - extraMs) && await canGiveUp(service);
}

const DAY_MS = 24 * 60 * MINUTE_MS;

/** A transaction that stays unclear must not keep the checkout open forever. */
function isForgotten({ clock }: Service, attempt: CheckoutAttempt): boolean {
  return hasPageEnded(attempt, clock() - DAY_MS);
}

async function markPageClosed(
  service: Service,
  known: GatewayCheckout,
  { id }: CheckoutAttempt,
): Promise<GatewayCheckout> {
  return await changeCheckout(service, known, (current) => {
    const open = openAttempt(current);
    return open?.id === id && !open.is_page_closed
      ? { attempts: [{ ...open, is_page_closed: true }] }
      : null;
  });
}

async function endAttempt(
  service: Service,
  known: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<GatewayCheckout> {
  const payments = paymentsOf(attempt, await readCheckoutPayments(service, known));
  const now = service.clock();
  const result = payments.at(-1)?.transaction_status ??
    (hasPageEnded(attempt, now) ? "expire" : null);
  return await changeCheckout(service, known, (current) => {
    const open = openAttempt(current);
    return open?.id === attempt.id ? endOf(current, open, now, result) : null;
  });
}
