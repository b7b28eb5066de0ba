/** Builds a new payment from a charge, or from a transaction created outside the service. */

import { v7 as uuidv7 } from "uuid";
import { defaultsOf } from "../../db/records/columns.ts";
import {
  type GatewayPayment,
  type GatewayPaymentItem,
  PAYMENT_COLUMNS,
} from "../../db/payments/payments.ts";
import { newId } from "../ids.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import type { CustomerInput, ItemInput } from "./charge_input.ts";

const DEFAULTS = defaultsOf(PAYMENT_COLUMNS);

/** The members that come from a charge, or from a transaction created outside the service. */
export interface NewPayment {
  /** Any type of the gateway. It has more types than this service can charge. */
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
  checkout_id?: string;
}

export function newPayment(
  input: NewPayment,
  userId: string | null,
  now: Date,
  orderPrefix = "",
): GatewayPayment {
  const id = newId(now);
  const customer = input.customer_details;
  const [custom_field1 = null, custom_field2 = null, custom_field3 = null] = input.custom_fields ??
    [];
  return {
    ...DEFAULTS,
    id,
    user_id: userId,
    order_id: input.order_id ?? orderIdFrom(id, orderPrefix),
    payment_type: input.payment_type,
    bank: input.bank ?? null,
    store: input.store ?? null,
    acquirer: input.acquirer ?? null,
    checkout_id: input.checkout_id ?? null,
    gross_amount: input.gross_amount,
    customer_first_name: customer?.first_name ?? null,
    customer_last_name: customer?.last_name ?? null,
    customer_email: customer?.email ?? null,
    customer_phone: customer?.phone ?? null,
    metadata: input.metadata ?? null,
    custom_field1,
    custom_field2,
    custom_field3,
    is_hold: input.authorize ?? false,
    sent_at: now,
    check_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
    created_at: now,
    updated_at: now,
    items: (input.item_details ?? []).map((item, position) => newItem(item, position, id)),
    refunds: [],
  };
}

/**
 * A generated order id. It ends in a letter. The signature of a notification covers the order id
 * and the status code without a separator. If an order id ended in digits, it would not be clear
 * where it ends.
 */
export function orderIdFrom(id: string, orderPrefix = ""): string {
  return `${orderPrefix}${id}-p`;
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
