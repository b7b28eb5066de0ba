/** Builds the API's view of payments; `schema.ts` declares the fields. */

import type { z } from "@hono/zod-openapi";
import { isoTime } from "../../db/records/iso_time.ts";
import type { PaymentSummaryRow } from "../../db/payments/lists.ts";
import type {
  GatewayPayment,
  GatewayPaymentItem,
  GatewayRefund,
} from "../../db/payments/payments.ts";
import type { RefundDetails } from "../../db/payments/refunds.ts";
import { type Caller, canReadAll, roleOf } from "../auth/caller.ts";
import { formatCents, formatMoney, minusFees } from "../money.ts";
import { ownerShownTo } from "../records/read.ts";
import { completePayment } from "../records/stored_payment.ts";
import type { Service } from "../service.ts";
import { viewCard } from "./card.ts";
import { isRefundableType, noRefundReason } from "./paid_cohorts.ts";
import type {
  PaymentItemSchema,
  PaymentSchema,
  PaymentSummarySchema,
  RefundDetailsSchema,
  RefundSchema,
} from "./schema.ts";
import {
  allowsAction,
  isExpired,
  isFailed,
  isPaid,
  isPending,
  isReview,
  PAYMENT_ACTIONS,
  type PaymentAction,
} from "./states.ts";

// Types of the schemas' outputs: a view with a missing or an additional field does not compile.
export type PaymentView = z.output<typeof PaymentSchema>;
export type PaymentSummary = z.output<typeof PaymentSummarySchema>;
export type RefundView = z.output<typeof RefundSchema>;
export type RefundDetailsView = z.output<typeof RefundDetailsSchema>;
type ItemView = z.output<typeof PaymentItemSchema>;

/**
 * Returns an object literal, because every event and response contains a view. A loop over a table
 * of fields takes 4 to 6 times as long, and so does serializing the object that it builds.
 */
export function viewPayment(payment: GatewayPayment): PaymentView {
  const status = payment.transaction_status;
  const state = { status, fraud: payment.fraud_status };
  const chargeback = chargebackAmount(payment);
  return {
    id: payment.id,
    order_id: payment.order_id,
    transaction_id: payment.transaction_id,
    payment_type: payment.payment_type,
    bank: payment.bank,
    store: payment.store,
    acquirer: payment.acquirer,
    gross_amount: formatMoney(payment.gross_amount),
    captured_amount: payment.captured_amount === null ? null : formatMoney(payment.captured_amount),
    currency: payment.currency,
    transaction_status: status,
    fraud_status: payment.fraud_status,
    status_code: payment.status_code,
    status_message: payment.status_message,
    customer_first_name: payment.customer_first_name,
    customer_last_name: payment.customer_last_name,
    customer_email: payment.customer_email,
    customer_phone: payment.customer_phone,
    va_number: payment.va_number,
    bill_key: payment.bill_key,
    biller_code: payment.biller_code,
    payment_code: payment.payment_code,
    redirect_url: payment.redirect_url,
    deeplink_url: payment.deeplink_url,
    qr_string: payment.qr_string,
    qr_url: payment.qr_url,
    card: payment.card && viewCard(payment.card),
    transaction_time: timestamp(payment.transaction_time),
    settlement_time: timestamp(payment.settlement_time),
    expiry_time: timestamp(payment.expiry_time),
    refund_amount: formatMoney(payment.refunded_amount),
    chargeback_amount: chargeback === null ? null : formatMoney(chargeback),
    has_unknown_chargeback: chargeback === null,
    net_amount: formatMoney(netAmount(payment)),
    fee_amount: null,
    payout_amount: null,
    metadata: payment.metadata,
    custom_field1: payment.custom_field1,
    custom_field2: payment.custom_field2,
    custom_field3: payment.custom_field3,
    items: payment.items.map(viewItem),
    refunds: payment.refunds.map(viewRefund),
    invoice_id: payment.invoice_id,
    checkout_id: payment.checkout_id,
    subscription_id: payment.subscription_id,
    payment_page_url: null,
    allowed_actions: ownersActions(payment),
    no_refund_reason: noRefundReason(payment),
    is_paid: isPaid(state),
    is_pending: isPending(state),
    is_failed: isFailed(state),
    is_expired: isExpired(state),
    created_at: isoTime(payment.created_at),
    updated_at: isoTime(payment.updated_at),
  };
}

/** The payment with the gateway's fee, if one is known, for callers who may read all payments. */
export function viewWithFee(caller: Caller, payment: GatewayPayment): PaymentView {
  const view = viewPayment(payment);
  const { fee_cents } = payment;
  if (fee_cents === null || fee_cents === undefined || !canReadAll(caller)) return view;
  const payout_amount = minusFees(netAmount(payment), fee_cents);
  return { ...view, fee_amount: formatCents(fee_cents), payout_amount };
}

/**
 * The values of a payment that a form of the console shows. Its action is refused if they have
 * changed.
 */
export function shownOf(payment: PaymentView): string {
  const { transaction_status, fraud_status, refund_amount, refunds } = payment;
  const open = refunds.filter(({ status }) => status === "pending").length;
  return `${transaction_status} ${fraud_status ?? "-"} ${refund_amount} ${open}`;
}

/**
 * A full chargeback takes back all that was not refunded. Null: the gateway has not reported the
 * amount of a partial chargeback.
 */
export function chargebackAmount(
  payment: Pick<
    GatewayPayment,
    "transaction_status" | "captured_amount" | "refunded_amount" | "chargeback_amount"
  >,
): number | null {
  const { transaction_status, captured_amount, refunded_amount, chargeback_amount } = payment;
  if (transaction_status === "partial_chargeback") return chargeback_amount;
  if (transaction_status !== "chargeback") return 0;
  return Math.max(0, (captured_amount ?? 0) - refunded_amount);
}

function netAmount(payment: PaymentSummaryRow): number {
  const { captured_amount, refunded_amount } = payment;
  return (captured_amount ?? 0) - refunded_amount - (chargebackAmount(payment) ?? 0);
}

const OWNERS_ACTIONS = PAYMENT_ACTIONS.filter((action) => !isReview(action));
const REVIEWS = PAYMENT_ACTIONS.filter(isReview);

/**
 * The actions that the payment's owner can take. The view is stored in events, jobs and replies,
 * which callers with different roles read; `forCaller` adapts it to the caller.
 */
function ownersActions(payment: GatewayPayment): PaymentAction[] {
  const { payment_type, captured_amount, refunded_amount, reserved_amount } = payment;
  const state = { status: payment.transaction_status, fraud: payment.fraud_status };
  const canRefund = isRefundableType(payment_type) &&
    (captured_amount ?? 0) > refunded_amount + reserved_amount;
  return OWNERS_ACTIONS.filter((action) =>
    allowsAction(state, payment_type, action) && (action !== "refund" || canRefund)
  );
}

/**
 * The payment as a direct answer to this caller: with the actions that the caller's role allows,
 * and the link to the payment's page, which viewers do not get.
 */
export function forCaller(
  { links }: Pick<Service, "links">,
  caller: Caller,
  view: PaymentView,
): PaymentView {
  const role = roleOf(caller);
  if (role === "viewer") return { ...completePayment(view), allowed_actions: [] };
  const payment_page_url = links.url({ kind: "payment", id: view.id });
  const payment = completePayment({ ...view, payment_page_url });
  if (role === "user") return payment;
  const { transaction_status: status, fraud_status: fraud, allowed_actions } = payment;
  const reviews = REVIEWS.filter((action) =>
    allowsAction({ status, fraud }, payment.payment_type, action)
  );
  return { ...payment, allowed_actions: [...allowed_actions, ...reviews] };
}

export function summarizePayment(payment: PaymentSummaryRow, caller: Caller): PaymentSummary {
  const status = payment.transaction_status;
  return {
    id: payment.id,
    ...ownerShownTo(caller, payment),
    order_id: payment.order_id,
    payment_type: payment.payment_type,
    gross_amount: formatMoney(payment.gross_amount),
    transaction_status: status,
    fraud_status: payment.fraud_status,
    customer_first_name: payment.customer_first_name,
    customer_email: payment.customer_email,
    settlement_time: timestamp(payment.settlement_time),
    refund_amount: formatMoney(payment.refunded_amount),
    net_amount: formatMoney(netAmount(payment)),
    is_paid: isPaid({ status, fraud: payment.fraud_status }),
    created_at: isoTime(payment.created_at),
  };
}

export function viewRefund(refund: GatewayRefund): RefundView {
  return {
    id: refund.id,
    refund_key: refund.refund_key,
    amount: formatMoney(refund.amount),
    reason: refund.reason,
    is_direct: refund.is_direct,
    status: refund.status,
    status_code: refund.status_code,
    status_message: refund.status_message,
    created_at: isoTime(refund.created_at),
  };
}

/** `created_by` and its name are for callers who may read the refunds of all users. */
export function viewRefundDetails(caller: Caller, refund: RefundDetails): RefundDetailsView {
  return {
    ...viewRefund(refund),
    payment_id: refund.payment_id,
    order_id: refund.order_id,
    created_by: canReadAll(caller) ? refund.created_by : null,
    created_by_name: canReadAll(caller) ? refund.created_by_name : null,
    updated_at: isoTime(refund.updated_at),
  };
}

function viewItem(item: GatewayPaymentItem): ItemView {
  return {
    id: item.id,
    item_id: item.item_id,
    name: item.name,
    price: formatMoney(item.price),
    quantity: item.quantity,
    brand: item.brand,
    category: item.category,
    merchant_name: item.merchant_name,
    url: item.url,
    subtotal: formatMoney(item.price * item.quantity),
  };
}

function timestamp(time: Date | null): string | null {
  return time && isoTime(time);
}
