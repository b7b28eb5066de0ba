/** `POST /v2/charge`: starts a transaction of any payment method. */

import { AUTHORIZATION_HOLD } from "../cards/authorization.ts";
import { addInterval, parseTime, SECOND } from "../engine/time.ts";
import { invalid, ProxyError, Refusal } from "../http/refusal.ts";
import { validate } from "../http/validate.ts";
import { latestOfOrder } from "../transactions/transactions.ts";
import type { InitialTransaction, MethodName, Transaction } from "../world/transaction.ts";
import type { Cause } from "../world/webhook.ts";
import type { World } from "../world/world.ts";
import type { ChargeRequest, Method } from "./methods/method.ts";
import { METHODS, NOT_ACTIVATED } from "./methods/methods.ts";
import { chargeResponse } from "./responses.ts";

export interface ChargeOptions {
  notify?: Transaction["notify"];
  cause?: Cause;
  subscriptionId?: string;
  invoiceId?: string;
  snapToken?: string;
  /** When the transaction expires if the customer does not pay. Default: the method's expiry. */
  pendingUntil?: number | null;
}

export function charge(world: World, body: unknown, options: ChargeOptions = {}) {
  if (isEmpty(body)) throw new ProxyError();
  const method = findMethod(body, world);
  const request = validate(method.schema, body);
  checkItemTotal(request);
  if (!isOrderIdFree(world, request.transaction_details.order_id)) throw new Refusal(406);
  const { transaction, statusMessage } = startTransaction(world, method, request, options);
  return chargeResponse(world, transaction, statusMessage);
}

/** The gateway's proxy fails for `null` and for `{}`. */
function isEmpty(body: unknown): boolean {
  if (body === null) return true;
  return typeof body === "object" && !Array.isArray(body) && Object.keys(body).length === 0;
}

/** Starts a transaction from a validated request. */
export function startTransaction(
  world: World,
  method: Method,
  request: ChargeRequest,
  options: ChargeOptions = {},
) {
  const { order_id, gross_amount } = request.transaction_details;
  const now = world.clock.now();
  const requested = requestedLifetime(method, request, now);
  const { statusMessage, ...start } = method.start(request, world);
  const transaction = world.transactions.put({
    id: world.random.uuid(),
    orderId: order_id,
    amount: gross_amount,
    method: method.name,
    createdAt: now,
    expiresAt: start.status === "pending" && options.pendingUntil
      ? options.pendingUntil
      : expiryTime(method, start, now, requested),
    capturedAt: null,
    settledAt: start.status === "settlement" ? now : null,
    decidesAt: null,
    message: null,
    refunds: [],
    customFields: customFields(request),
    metadata: request.metadata ?? null,
    customer: describeCustomer(request),
    popId: world.random.uuid(),
    notify: options.notify ?? { override: [], append: [] },
    parentId: null,
    subscriptionId: options.subscriptionId ?? null,
    invoiceId: options.invoiceId ?? null,
    ...options.snapToken && { snapToken: options.snapToken },
    ...start,
  });
  world.notifier.notifyTransaction(transaction, options.cause ?? "charge");
  return { transaction, statusMessage };
}

function findMethod(body: unknown, { settings }: World): Method {
  const type = (body as { payment_type?: unknown } | null)?.payment_type;
  if (type === undefined || type === null) throw invalid("payment_type is required");
  if (settings.inactive_payment_types.includes(type as string)) throw new Refusal(402);
  if (typeof type === "string" && Object.hasOwn(METHODS, type)) return METHODS[type as MethodName];
  if (NOT_ACTIVATED.includes(type as string)) throw new Refusal(402);
  throw invalid("payment_type is not supported");
}

export function checkItemTotal(
  { item_details, transaction_details }: Pick<
    ChargeRequest,
    "item_details" | "transaction_details"
  >,
): void {
  if (!item_details || item_details.length === 0) return;
  const sum = item_details.reduce((total, { price, quantity }) => total + price * quantity, 0);
  if (sum !== transaction_details.gross_amount) {
    throw invalid("transaction_details.gross_amount is not equal to the sum of item_details");
  }
}

/**
 * An order id is in use while its transaction can be paid, and permanently once it was paid. After
 * a denial, a setting decides.
 */
export function isOrderIdFree(world: World, orderId: string): boolean {
  const latest = latestOfOrder(world, orderId);
  if (!latest) return true;
  const { status, details } = latest;
  if (status === "deny") return world.settings.reuse_order_id_after_deny;
  if (status === "cancel") return details.cancelledFrom === "pending";
  return status === "expire" || status === "failure";
}

/** Milliseconds until the expiry that the merchant requested; null if none was requested. */
function requestedLifetime(
  { minExpiry = 20 * SECOND }: Method,
  { custom_expiry }: ChargeRequest,
  now: number,
): number | null {
  if (!custom_expiry) return null;
  const { order_time, expiry_duration, unit } = custom_expiry;
  const from = order_time ? parseTime(order_time) : now;
  if (from === null) throw invalid("custom_expiry.order_time format is invalid");
  const left = addInterval(from, expiry_duration, unit ?? "minute") - now;
  if (left < minExpiry) throw invalid("custom_expiry is below minimum threshold");
  return left;
}

function expiryTime(
  method: Method,
  { status, details }: Omit<InitialTransaction, "statusMessage">,
  now: number,
  requested: number | null,
): number | null {
  const { standard, max } = method.expiry(details);
  const lifetime = requested === null || max === null ? standard : Math.min(requested, max);
  if (status === "pending" || (status === "authorize" && method.name === "gopay")) {
    return now + lifetime;
  }
  return method.name === "credit_card" ? now + AUTHORIZATION_HOLD : null;
}

/** The customer's data that webhooks contain. */
function describeCustomer({ customer_details }: ChargeRequest): Transaction["customer"] {
  if (!customer_details) return null;
  const { email, first_name, last_name } = customer_details;
  const fullName = [first_name, last_name].filter(Boolean).join(" ");
  return { ...email && { email }, ...fullName && { full_name: fullName } };
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
