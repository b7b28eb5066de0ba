/** A charge in the gateway's words. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { ChargePayload } from "../gateway/operations.ts";
import type { ChargeInput, PaymentType } from "./charge_input.ts";

type OwnPart = (input: ChargeInput, payment: GatewayPayment) => Record<string, unknown>;

/** What each type has of its own, under its own name. */
const OWN_PARTS: Record<PaymentType, OwnPart> = {
  credit_card: (input) => ({
    token_id: input.token_id,
    authentication: input.authentication ?? true,
    ...input.authorize && { type: "authorize" },
    ...input.save_token_id && { save_token_id: true },
    installment_term: input.installment_term,
  }),
  bank_transfer: ({ bank, va_number }) => ({ bank, va_number }),
  echannel: ({ bill_info1, bill_info2 }, { order_id }) => ({
    bill_info1: bill_info1 ?? "Payment",
    bill_info2: bill_info2 ?? order_id,
  }),
  gopay: ({ callback_url }) => ({ enable_callback: callback_url !== undefined, callback_url }),
  shopeepay: ({ callback_url }) => ({ callback_url }),
  ovo: ({ customer_details }) => ({ payer_phone_number: customer_details?.phone }),
  dana: () => ({}),
  qris: ({ acquirer }) => ({ acquirer }),
  cstore: ({ store }) => ({ store }),
  akulaku: () => ({}),
  kredivo: () => ({}),
};

export function chargePayload(input: ChargeInput, payment: GatewayPayment): ChargePayload {
  const { payment_type, gross_amount, customer_details, item_details, custom_expiry } = input;
  const ownPart = withoutAbsent(OWN_PARTS[payment_type](input, payment));
  return {
    payment_type,
    transaction_details: { order_id: payment.order_id, gross_amount },
    ...withoutAbsent({ customer_details, item_details, custom_expiry }),
    ...Object.fromEntries(
      (input.custom_fields ?? []).map((text, index) => [`custom_field${index + 1}`, text]),
    ),
    // By this the transaction is known as ours, whatever its order id says.
    metadata: { ...input.metadata, payment_ref: payment.id },
    ...Object.keys(ownPart).length > 0 && { [payment_type]: ownPart },
  };
}

function withoutAbsent(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
