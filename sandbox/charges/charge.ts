/** `POST /v2/charge`: a new transaction of any method. */

import { HOLD } from "../cards/authorization.ts";
import { addInterval, parseTime, SECOND } from "../engine/time.ts";
import { invalid, Refusal } from "../http/refusal.ts";
import { validate } from "../http/validate.ts";
import type { MethodName, Start, Transaction } from "../world/transaction.ts";
import type { Cause } from "../world/webhook.ts";
import type { World } from "../world/world.ts";
import type { ChargeRequest, Method } from "./methods/method.ts";
import { METHODS, NOT_ACTIVATED } from "./methods/methods.ts";
import { chargeAnswer } from "./responses.ts";

export interface ChargeOptions {
  notify?: Transaction["notify"];
  cause?: Cause;
  subscriptionId?: string;
  invoiceId?: string;
}

export function charge(world: World, body: unknown, options: ChargeOptions = {}) {
  const method = findMethod(body);
  const request = validate(method.schema, body);
  checkSum(request);
  if (!isFree(world, request.transaction_details.order_id)) throw new Refusal(406);
  const { transaction, says } = startTransaction(world, method, request, options);
  return chargeAnswer(world, transaction, says);
}

/** Starts a transaction whose request is known to be good. */
export function startTransaction(
  world: World,
  method: Method,
  request: ChargeRequest,
  options: ChargeOptions = {},
) {
  const { order_id, gross_amount } = request.transaction_details;
  const now = world.clock.now();
  const chosen = chosenExpiry(request, now);
  const { says, ...start } = method.start(request, world);
  const transaction = world.transactions.put({
    id: world.random.uuid(),
    orderId: order_id,
    amount: gross_amount,
    method: method.name,
    createdAt: now,
    expiresAt: expiryOf(method, start, now, chosen),
    capturedAt: null,
    settledAt: start.status === "settlement" ? now : null,
    decidesAt: null,
    message: null,
    refunds: [],
    customFields: customFields(request),
    metadata: request.metadata ?? null,
    notify: options.notify ?? { override: [], append: [] },
    parentId: null,
    subscriptionId: options.subscriptionId ?? null,
    invoiceId: options.invoiceId ?? null,
    ...start,
  });
  world.notifier.transaction(transaction, options.cause ?? "charge");
  return { transaction, says };
}

function findMethod(body: unknown): Method {
  const type = (body as { payment_type?: unknown } | null)?.payment_type;
  if (type === undefined || type === null) throw invalid("payment_type is required");
  if (typeof type === "string" && Object.hasOwn(METHODS, type)) return METHODS[type as MethodName];
  if (NOT_ACTIVATED.includes(type as string)) throw new Refusal(402);
  throw invalid("payment_type is not supported");
}

function checkSum({ item_details, transaction_details }: ChargeRequest): void {
  if (!item_details || item_details.length === 0) return;
  const sum = item_details.reduce((total, { price, quantity }) => total + price * quantity, 0);
  // Worded as by the gateway, whatever it has to do with tokens.
  if (sum !== transaction_details.gross_amount) {
    throw invalid("transaction_details.gross_amount must be equal to token request gross_amount");
  }
}

/** An order is taken while it can still be paid, and for good once it was (G§3.15). */
export function isFree(world: World, orderId: string): boolean {
  const latest = world.transactions.get(world.orders.get(orderId)?.id ?? "");
  if (!latest) return true;
  const { status, details } = latest;
  if (status === "deny") return world.settings.reuse_order_id_after_deny;
  if (status === "cancel") return details.cancelledFrom === "pending";
  return status === "expire" || status === "failure";
}

/** How long after now the merchant lets it live; null where it did not say. */
function chosenExpiry({ custom_expiry }: ChargeRequest, now: number): number | null {
  if (!custom_expiry) return null;
  const { order_time, expiry_duration, unit } = custom_expiry;
  const from = order_time ? parseTime(order_time) : now;
  if (from === null) throw invalid("custom_expiry.order_time format is invalid");
  const left = addInterval(from, expiry_duration, unit ?? "minute") - now;
  if (left < 20 * SECOND) throw invalid("custom_expiry is below minimum threshold");
  return left;
}

function expiryOf(
  method: Method,
  { status, details }: Omit<Start, "says">,
  now: number,
  chosen: number | null,
): number | null {
  const { usual, most } = method.expiry(details);
  const life = chosen === null || most === null ? usual : Math.min(chosen, most);
  if (status === "pending" || (status === "authorize" && method.name === "gopay")) {
    return now + life;
  }
  return method.name === "credit_card" ? now + HOLD : null;
}

function customFields(request: ChargeRequest): Record<string, string> {
  const { custom_field1, custom_field2, custom_field3 } = request;
  const fields = { custom_field1, custom_field2, custom_field3 };
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] =>
      typeof entry[1] === "string"
    ),
  );
}
