/** `Payment`, narrowed by `payment_type`. The build puts it into the generated types. */

import type { AnyPayment, ChargeRequest } from "#api/types";

/** The payment types that a charge can have. */
export type PaymentType = ChargeRequest["payment_type"];

/** The payment instructions of each type, as the document describes them. */
interface Instructions {
  akulaku: "redirect_url";
  bank_transfer: "va_number";
  credit_card: "redirect_url";
  cstore: "store" | "payment_code";
  dana: "deeplink_url";
  echannel: "bill_key" | "biller_code";
  gopay: "deeplink_url" | "qr_url";
  kredivo: "redirect_url";
  ovo: never;
  qris: "qr_string" | "qr_url";
  shopeepay: "deeplink_url";
}

type Instruction = Instructions[PaymentType];

/** A payment of one type, such as `PaymentOf<"gopay">`. Instructions of other types are null. */
export type PaymentOf<T extends PaymentType> = T extends PaymentType ?
    & Omit<AnyPayment, "payment_type" | Exclude<Instruction, Instructions[T]>>
    & { payment_type: T }
    & { [name in Exclude<Instruction, Instructions[T]>]: null }
  : never;

/**
 * A text that is not a `PaymentType`. Declared as an enum, because the compiler knows that an enum
 * differs from every literal; `string` includes all literals. The enum does not exist at run time.
 */
declare enum OtherPaymentType {
  name = "",
}

/** A payment of a type that cannot be charged, such as a payment on the page of an invoice. */
export type OtherPayment = Omit<AnyPayment, "payment_type"> & { payment_type: OtherPaymentType };

/** A payment. `payment.payment_type === "gopay"` narrows it to `PaymentOf<"gopay">`. */
export type Payment = PaymentOf<PaymentType> | OtherPayment;
