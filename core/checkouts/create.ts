/** `createCheckout`: stores a checkout and reserves the order ids of its attempts. */

import { type GatewayCheckout, insertCheckout } from "../../db/billing/checkouts.ts";
import type { Sql } from "../../db/connection/database.ts";
import { reserveOrderIds } from "../../db/writing/record_writes.ts";
import { actorOf, type Caller, refuseViewers } from "../auth/caller.ts";
import { requireOrderPrefix } from "../auth/order_prefix.ts";
import { invalidField, ServiceError } from "../errors.ts";
import { type Change, changeOnce } from "../idempotency/change_once.ts";
import { isKeyUsed, type RequestKey, type RequestResult } from "../idempotency/keys.ts";
import { newId } from "../ids.ts";
import { generatedOrders } from "../records/generated_orders.ts";
import type { Service } from "../service.ts";
import { offeredMethods } from "./methods.ts";
import { type CheckoutInput, MAX_ATTEMPTS } from "./schema.ts";
import { type CheckoutView, viewCheckout } from "./views.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const DEFAULT_MS = DAY_MS;
const SHORTEST_MS = 2 * MINUTE_MS;
const LONGEST_MS = 30 * DAY_MS;

export async function createCheckout(
  service: Service,
  caller: Caller,
  input: CheckoutInput,
  requestKey: RequestKey | null,
): Promise<RequestResult<CheckoutView>> {
  refuseViewers(caller);
  requirePublicUrl(service);
  requireOrderPrefix(caller, input);
  requireReturnUrls(service, input);
  const now = new Date(service.clock());
  const toOrderId = (id: string) => orderIdFrom(id, caller.orderPrefix);
  const orders = generatedOrders(service, caller, requestKey, toOrderId);
  const newWithOrder = () =>
    newCheckout({ ...input, order_id: input.order_id ?? orders.current() }, caller, now);
  const checkout = newWithOrder();
  const problem = findProblem(checkout, now);
  // Time has passed since the first request: a repeated one gets the stored reply.
  if (problem && !(requestKey && await isKeyUsed(service, caller, requestKey))) throw problem;
  const insert = (checkout: GatewayCheckout) =>
    changeOnce(service, caller, requestKey, (sql) => insertOnce(sql, checkout), "insert checkout");
  const changed = await insert(checkout).catch(async (error) => {
    if (!isOrderIdInUse(error) || checkout.order_id !== orders.current()) throw error;
    await orders.next();
    return await insert(newWithOrder());
  });
  return "result" in changed
    ? { body: changed.result, isReplayed: false }
    : { body: changed.replayed as CheckoutView, isReplayed: true };
}

async function insertOnce(sql: Sql, checkout: GatewayCheckout): Promise<Change<CheckoutView>> {
  if (!await reserveOrderIds(sql, checkout, orderIdsOf(checkout))) throw orderIdInUse(checkout);
  await insertCheckout(sql, checkout);
  const view = viewCheckout(checkout);
  return { result: view, reply: { body: view } };
}

function newCheckout(input: CheckoutInput, caller: Caller, now: Date): GatewayCheckout {
  const id = newId(now);
  const expires_at = input.expires_at ?? new Date(now.getTime() + DEFAULT_MS);
  return {
    id,
    user_id: caller.userId,
    order_id: input.order_id ?? orderIdFrom(id, caller.orderPrefix),
    status: "open",
    gross_amount: input.gross_amount,
    currency: "IDR",
    item_details: input.item_details ?? null,
    customer_details: input.customer_details ?? null,
    enabled_payments: input.enabled_payments ?? null,
    refused_payments: [],
    finish_url: input.finish_url ?? null,
    cancel_url: input.cancel_url ?? null,
    language: input.language ?? null,
    metadata: input.metadata ?? null,
    custom_fields: input.custom_fields ?? null,
    expires_at,
    ended_at: null,
    payment_id: null,
    extra_payment_id: null,
    is_late: false,
    check_at: expires_at,
    created_by: actorOf(caller),
    event_count: 0,
    version: 0,
    created_at: now,
    updated_at: now,
    attempts: [],
  };
}

/** Ends in a letter, like that of a charge: the signature of a notification needs it. */
function orderIdFrom(id: string, orderPrefix = ""): string {
  return `${orderPrefix}${id}-c`;
}

/** Attempt 1 has the order id itself, the others a tilde and their number. */
export function orderIdOf({ order_id }: Pick<GatewayCheckout, "order_id">, number: number): string {
  return number === 1 ? order_id : `${order_id}~${number}`;
}

function orderIdsOf(checkout: GatewayCheckout): string[] {
  return Array.from({ length: MAX_ATTEMPTS }, (_, index) => orderIdOf(checkout, index + 1));
}

function isOrderIdInUse(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "duplicate_order";
}

function orderIdInUse({ order_id }: GatewayCheckout): ServiceError {
  return new ServiceError("duplicate_order", {
    detail:
      `The order id ${order_id}, or one of ${order_id}~2 to ~${MAX_ATTEMPTS}, is already in ` +
      "use. Send another order_id.",
    members: { order_id, outcome: "refused" },
  });
}

/** The page's address cannot be taken from a request: its Host header can be forged. */
function requirePublicUrl({ links }: Service): void {
  if (links.publicUrl() !== null) return;
  throw new ServiceError("unavailable", {
    detail: "Checkouts need the address of this service: set PUBLIC_URL, for example to " +
      "https://pay.shop.example, and restart the service.",
    members: { setting: "PUBLIC_URL" },
    // Every 503 has it; a retry helps only after a restart with the setting.
    headers: { "Retry-After": "3600" },
    isExpected: true,
  });
}

/** The customer is sent to these addresses, so they have to be encrypted. */
function requireReturnUrls(
  { acceptDevelopmentKeys }: Service,
  { finish_url, cancel_url }: CheckoutInput,
): void {
  for (const [name, text] of Object.entries({ finish_url, cancel_url })) {
    const url = text === undefined ? null : URL.parse(text);
    if (!url || url.protocol === "https:") continue;
    const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
    if (acceptDevelopmentKeys && url.protocol === "http:" && isLoopback) continue;
    throw invalidField(name, "must begin with https://");
  }
}

/** What depends on the time: too little of it, or too much, or no method that can work. */
function findProblem(checkout: GatewayCheckout, now: Date): ServiceError | null {
  const left = checkout.expires_at.getTime() - now.getTime();
  if (left < SHORTEST_MS || left > LONGEST_MS) {
    return invalidField("expires_at", "must be from 2 minutes to 30 days in the future");
  }
  if (offeredMethods(checkout, now.getTime()).length > 0) return null;
  return invalidField(
    "enabled_payments",
    "none of the methods can be used with this amount and these details",
  );
}
