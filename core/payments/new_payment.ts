/** A payment before anybody else knows of it. */

import { v7 as uuidv7 } from "uuid";
import type { GatewayPayment, GatewayPaymentItem } from "../../db/payments.ts";
import { newId } from "../new_id.ts";
import type { CustomerInput, ItemInput } from "./charge_parts.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";

/** What a payment takes over from its charge, or from a transaction created outside the service. */
export interface NewPayment {
  /** The gateway has more types than can be charged here. */
  payment_type: string;
  gross_amount: number;
  order_id?: string;
  bank?: string;
  store?: string;
  acquirer?: string;
  authorize?: boolean;
  customer_details?: CustomerInput;
  item_details?: ItemInput[];
  metadata?: Record<string, unknown>;
  custom_fields?: string[];
}

export function newPayment(input: NewPayment, userId: string | null, now: Date): GatewayPayment {
  const id = newId(now);
  const customer = input.customer_details;
  const [custom_field1 = null, custom_field2 = null, custom_field3 = null] = input.custom_fields ??
    [];
  return {
    id,
    user_id: userId,
    order_id: input.order_id ?? madeUpOrder(id),
    transaction_id: null,
    payment_type: input.payment_type,
    bank: input.bank ?? null,
    store: input.store ?? null,
    acquirer: input.acquirer ?? null,
    gross_amount: input.gross_amount,
    captured_amount: null,
    refunded_amount: 0,
    reserved_amount: 0,
    currency: "IDR",
    transaction_status: "pending",
    fraud_status: null,
    status_code: null,
    status_message: null,
    customer_first_name: customer?.first_name ?? null,
    customer_last_name: customer?.last_name ?? null,
    customer_email: customer?.email ?? null,
    customer_phone: customer?.phone ?? null,
    va_number: null,
    bill_key: null,
    biller_code: null,
    payment_code: null,
    redirect_url: null,
    deeplink_url: null,
    qr_string: null,
    qr_url: null,
    transaction_time: null,
    settlement_time: null,
    expiry_time: null,
    metadata: input.metadata ?? null,
    custom_field1,
    custom_field2,
    custom_field3,
    invoice_id: null,
    subscription_id: null,
    is_hold: input.authorize ?? false,
    is_refused: false,
    paid_at: null,
    denied_captures: 0,
    sent_at: now,
    check_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
    event_count: 0,
    version: 0,
    created_at: now,
    updated_at: now,
    items: (input.item_details ?? []).map((item, position) => newItem(item, position, id)),
    refunds: [],
  };
}

/** It ends in a letter: what a notification of it has signed can be read in one way only. */
function madeUpOrder(id: string): string {
  return `${id}-p`;
}

function newItem(item: ItemInput, position: number, paymentId: string): GatewayPaymentItem {
  return {
    id: uuidv7(),
    payment_id: paymentId,
    position,
    item_id: item.id ?? null,
    name: item.name,
    price: item.price,
    quantity: item.quantity,
    brand: item.brand ?? null,
    category: item.category ?? null,
    merchant_name: item.merchant_name ?? null,
    url: item.url ?? null,
  };
}
