/**
 * A transaction in the gateway's formats: response to a call, response to a status request,
 * notification.
 */

import { formatWib } from "../engine/time.ts";
import { sign } from "../transactions/signature.ts";
import { formatMoney, sumRefunds, type Transaction } from "../world/transaction.ts";
import type { Identity, World } from "../world/world.ts";
import type { View } from "./methods/method.ts";
import { METHODS } from "./methods/methods.ts";

/** Response to a charge. */
export function chargeResponse(world: Identity, transaction: Transaction, statusMessage: string) {
  return {
    status_code: statusCode(transaction, "operation"),
    status_message: statusMessage,
    ...commonFields(world, transaction),
    ...expiryField(transaction),
    ...METHODS[transaction.method].fields(transaction, "operation", world),
  };
}

type Merchant = Pick<World, keyof Identity | "settings">;

/** Response to cancel, expire, approve, deny and capture. */
export function actionResponse(world: Merchant, transaction: Transaction, statusMessage: string) {
  return {
    status_code: statusCode(transaction, "operation"),
    status_message: statusMessage,
    ...commonFields(world, transaction),
    ...hidesOrderId(world, transaction) && { transaction_id: undefined, order_id: undefined },
  };
}

/** Response to a refund. */
export function refundResponse(world: Merchant, transaction: Transaction, statusMessage: string) {
  return {
    ...actionResponse(world, transaction, statusMessage),
    ...hidesOrderId(world, transaction) && { order_id: transaction.id },
  };
}

function hidesOrderId({ settings }: Merchant, { method }: Transaction): boolean {
  return method === "dana" && !settings.dana_order_id;
}

/** Response to a status request. A setting decides whether it contains the merchant's metadata. */
export function statusForMerchant(world: Merchant, transaction: Transaction) {
  const { metadata } = transaction;
  const isShown = metadata === null || world.settings.metadata_in_status;
  const shown = isShown ? transaction : { ...transaction, metadata: gatewayMembers(metadata) };
  return {
    ...statusResponse(world, shown),
    ...hidesOrderId(world, transaction) && { order_id: transaction.id },
  };
}

/** The members of the metadata that the gateway itself adds; null if there are none. */
function gatewayMembers(metadata: Record<string, unknown>): Record<string, unknown> | null {
  const added = Object.entries(metadata).filter(([name]) => GATEWAY_MEMBERS.includes(name));
  return added.length > 0 ? Object.fromEntries(added) : null;
}

const GATEWAY_MEMBERS = ["extra_info", "midtrans_invoice_id"];

/** A status response that always contains the merchant's metadata. */
export function statusResponse(world: Identity, transaction: Transaction) {
  // For pending DANA transactions, the gateway sends code 200 and the status in capitals.
  const isPendingDana = transaction.method === "dana" && transaction.status === "pending";
  const code = isPendingDana ? "200" : statusCode(transaction, "status");
  return {
    status_code: code,
    status_message: statusMessageOf(transaction),
    ...allFields(world, transaction, "status", code),
    ...isPendingDana && { transaction_status: "PENDING" },
  };
}

export function notification(world: Identity, transaction: Transaction) {
  const code = statusCode(transaction, "notification");
  return {
    status_code: code,
    status_message: "midtrans payment notification",
    ...allFields(world, transaction, "notification", code),
    pop_id: transaction.popId,
    ...transaction.customer && { customer_details: transaction.customer },
  };
}

function allFields(world: Identity, transaction: Transaction, view: View, code: string) {
  const { orderId, amount, settledAt, customFields, metadata } = transaction;
  return {
    ...commonFields(world, transaction),
    ...expiryField(transaction),
    ...settledAt !== null && { settlement_time: formatWib(settledAt) },
    ...refundFields(transaction),
    ...METHODS[transaction.method].fields(transaction, view, world),
    ...customFields,
    ...metadata && { metadata },
    signature_key: sign(orderId, code, formatMoney(amount), world.merchant.serverKey),
  };
}

function commonFields(world: Identity, transaction: Transaction) {
  const { id, orderId, amount, method, createdAt, status, fraud } = transaction;
  return {
    transaction_id: id,
    order_id: orderId,
    merchant_id: world.merchant.id,
    gross_amount: formatMoney(amount),
    currency: "IDR",
    payment_type: METHODS[method].paymentType,
    transaction_time: formatWib(createdAt),
    transaction_status: status as string,
    ...fraud !== null && { fraud_status: fraud },
  };
}

function expiryField({ expiresAt }: Transaction) {
  return expiresAt === null ? {} : { expiry_time: formatWib(expiresAt) };
}

function refundFields(transaction: Transaction) {
  const refunds = transaction.refunds.filter(({ isPending }) => !isPending);
  if (refunds.length === 0) return {};
  return {
    refund_amount: formatMoney(sumRefunds({ refunds })),
    refunds: refunds.map((refund) => ({
      refund_chargeback_id: refund.id,
      refund_amount: formatMoney(refund.amount),
      created_at: formatWib(refund.createdAt),
      reason: refund.reason,
      refund_key: refund.key,
      refund_method: refund.isDirect ? "online" : "offline",
      ...refund.confirmedAt !== null && { bank_confirmed_at: formatWib(refund.confirmedAt) },
    })),
  };
}

function statusMessageOf({ method, status, message, details }: Transaction): string {
  const found = "Success, transaction is found";
  if (method !== "credit_card") return message ?? found;
  switch (status) {
    case "authorize":
    case "settlement":
      return "Success, Credit Card transaction is successful";
    case "capture":
      return details.isPreAuth
        ? "Success, Credit Card capture transaction is successful"
        : "Success, Credit Card transaction is successful";
    case "pending":
      return "Credit Card transaction is pending";
    case "cancel":
      return "Success, transaction is canceled";
    case "expire":
      return "Credit Card transaction is expired";
    case "failure":
      return "Credit Card transaction is failed";
    case "refund":
    case "partial_refund":
      return "Success, refund request is approved by the bank";
    default:
      return message ?? found;
  }
}

type State = Pick<Transaction, "status" | "fraud">;

/**
 * The gateway's code for a status. Some statuses have another code in webhooks than in responses.
 */
function statusCode({ status, fraud }: State, view: View): string {
  switch (status) {
    case "pending":
      return "201";
    case "capture":
    case "authorize":
      return fraud === "challenge" ? "201" : "200";
    case "deny":
    case "failure":
      return "202";
    case "cancel":
      return view === "notification" ? "202" : "200";
    case "expire":
      return view === "notification" ? "202" : "407";
    default:
      return "200";
  }
}
