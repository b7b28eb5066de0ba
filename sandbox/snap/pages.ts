/** Snap pages: create, cancel, find, and the state of a page. */

import { first } from "../engine/store.ts";
import { invalid, Refusal } from "../http/refusal.ts";
import type { SnapPage } from "../world/records.ts";
import type { Transaction } from "../world/transaction.ts";
import type { Identity, World } from "../world/world.ts";
import { offeredMethods } from "./methods.ts";
import { parseSnapRequest } from "./request.ts";

/** After more failures than this, the page redirects to the merchant's error URL. */
const MAX_RETRIES = 3;

/**
 * `open`: the customer can pay. `in_progress`: a payment was started and is not decided. `failed`:
 * denied, and the customer cannot try again.
 */
export type SnapState =
  | "open"
  | "in_progress"
  | "paid"
  | "failed"
  | "expired"
  | "cancelled"
  | "replaced";

export function createSnapPage(world: World, body: unknown, notify: Transaction["notify"]) {
  const now = world.clock.now();
  const parsed = parseSnapRequest(world, body, now);
  if (isOrderIdUsed(world, parsed.orderId)) {
    throw invalid(
      "transaction_details.order_id has been paid and utilized, please use another order ID",
    );
  }
  if (offeredMethods(world, parsed.request).length === 0) {
    throw invalid("enabled_payments has no payment method that this merchant can use");
  }
  for (const page of [...world.snapPages.find(`order:${parsed.orderId}`)]) {
    if (page.ended === null) world.snapPages.put({ ...page, ended: "replaced" });
  }
  const page = world.snapPages.put({
    id: world.random.uuid(),
    createdAt: now,
    ended: null,
    language: null,
    notify,
    ...parsed,
  });
  return { token: page.id, redirect_url: redirectUrl(world, page) };
}

export function redirectUrl(world: Identity, { id }: SnapPage): string {
  return world.publicUrl() + snapPath(id);
}

export function snapPath(token: string): string {
  return `/snap/v3/redirection/${token}`;
}

/** The page that ends a payment: it shows the result and returns to the merchant. */
export function snapResultPath(token: string): string {
  return `${snapPath(token)}/result`;
}

/** Order ids are shared with the core API: a transaction of any kind uses its order id. */
function isOrderIdUsed(world: World, orderId: string): boolean {
  const transactions = [...world.transactions.find(`order:${orderId}`)];
  const isDenied = transactions.every(({ status }) => status === "deny");
  return transactions.length > 0 && !(isDenied && world.settings.snap_reuse_order_id_after_deny);
}

export function cancelSnapPage(world: World, token: string) {
  if (world.settings.snap_cancel === "missing") {
    throw new Refusal(404, "The requested resource is not found");
  }
  const page = world.snapPages.get(token);
  if (!page || page.ended === "replaced") throw new Refusal(404, "token not found");
  if (page.ended === "cancelled") throw new Refusal(400, "token already canceled");
  if (["in_progress", "paid"].includes(snapState(world, page))) {
    throw new Refusal(400, "Transaction is on progress");
  }
  world.snapPages.put({ ...page, ended: "cancelled" });
  return { canceled_at: new Date(world.clock.now()).toISOString() };
}

/** Sends no webhook; neither does the gateway. */
export function expirePage(world: World, page: SnapPage): void {
  world.snapPages.put({ ...page, ended: "expired" });
}

export function findSnapPage(world: World, token: string): SnapPage {
  const page = world.snapPages.get(token);
  if (!page) throw new Refusal(404, "token not found");
  return page;
}

/** Newest first. */
export function transactionsOf(world: World, { id }: SnapPage): Iterable<Transaction> {
  return world.transactions.find(`snap:${id}`);
}

export function latestOf(world: World, page: SnapPage): Transaction | undefined {
  return first(transactionsOf(world, page));
}

export function snapState(world: World, page: SnapPage): SnapState {
  if (page.ended === "cancelled" || page.ended === "replaced") return page.ended;
  const latest = latestOf(world, page);
  if (latest && !isRetryable(latest)) return stateOfPayment(latest);
  const failures = countFailures(world, page);
  const maxFailures = world.settings.preferences.allow_retry ? MAX_RETRIES : 0;
  if (failures > maxFailures) return "failed";
  return page.expiresAt <= world.clock.now() ? "expired" : "open";
}

export function countFailures(world: World, page: SnapPage): number {
  return [...transactionsOf(world, page)].filter(isRetryable).length;
}

/**
 * Whether the customer may try another payment on the same page: a card was denied, or its 3-D
 * Secure was abandoned. A denied review is different: the customer had paid.
 */
export function isRetryable({ method, status, capturedAt }: Transaction): boolean {
  return method === "credit_card" && capturedAt === null &&
    ["deny", "failure", "expire"].includes(status);
}

function stateOfPayment({ status }: Transaction): SnapState {
  switch (status) {
    case "pending":
      return "in_progress";
    case "cancel":
      return "cancelled";
    case "expire":
      return "expired";
    case "deny":
    case "failure":
      return "failed";
    default:
      return "paid";
  }
}
