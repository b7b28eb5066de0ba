/** Builds the gateway's charge request. */

import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { ChargePayload } from "../gateway/operations.ts";
import type { ChargeInput } from "./charge_input.ts";

export function chargePayload(input: ChargeInput, payment: GatewayPayment): ChargePayload {
  const { payment_type, gross_amount, customer_details, item_details } = input;
  const custom_expiry = "custom_expiry" in input ? input.custom_expiry : undefined;
  const typeOptions = withoutUndefined(optionsOf(input, payment));
  return {
    payment_type,
    transaction_details: { order_id: payment.order_id, gross_amount },
    ...withoutUndefined({ customer_details, item_details, custom_expiry }),
    ...Object.fromEntries(
      (input.custom_fields ?? []).map((text, index) => [`custom_field${index + 1}`, text]),
    ),
    // Proves that a transaction belongs to this payment. The order id does not: it may be reused.
    metadata: { ...input.metadata, payment_ref: payment.id },
    ...Object.keys(typeOptions).length > 0 && { [payment_type]: typeOptions },
  };
}

/** The object that the gateway expects under the name of the payment type; omitted if empty. */
function optionsOf(input: ChargeInput, { order_id }: GatewayPayment): object {
  switch (input.payment_type) {
    case "credit_card":
      return {
        token_id: input.token_id,
        authentication: input.authentication,
        ...input.authorize && { type: "authorize" },
        ...input.save_token_id && { save_token_id: true },
        installment_term: input.installment_term,
      };
    case "bank_transfer":
      return { bank: input.bank, va_number: input.va_number };
    case "echannel":
      return {
        bill_info1: input.bill_info1 ?? "Payment",
        bill_info2: input.bill_info2 ?? order_id,
      };
    case "gopay":
      return {
        enable_callback: input.callback_url !== undefined,
        callback_url: input.callback_url,
      };
    case "shopeepay":
      return { callback_url: input.callback_url };
    case "ovo":
      return { payer_phone_number: input.customer_details.phone };
    case "qris":
      return { acquirer: input.acquirer };
    case "cstore":
      return { store: input.store };
    case "dana":
    case "akulaku":
    case "kredivo":
      return {};
  }
}

function withoutUndefined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
