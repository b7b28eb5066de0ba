/** A charge as callers ask for it, whatever its type. */

export const PAYMENT_TYPES = [
  "credit_card",
  "bank_transfer",
  "echannel",
  "gopay",
  "shopeepay",
  "ovo",
  "dana",
  "qris",
  "cstore",
  "akulaku",
  "kredivo",
] as const;

export type PaymentType = (typeof PAYMENT_TYPES)[number];

export interface AddressInput {
  first_name?: string;
  last_name?: string;
  phone?: string;
  address?: string;
  city?: string;
  postal_code?: string;
  country_code?: string;
}

export interface CustomerInput {
  first_name?: string;
  last_name?: string;
  email?: string;
  phone?: string;
  billing_address?: AddressInput;
  shipping_address?: AddressInput;
}

export interface ItemInput {
  id?: string;
  name: string;
  price: number;
  quantity: number;
  brand?: string;
  category?: string;
  merchant_name?: string;
  url?: string;
}

export interface ChargeInput {
  payment_type: PaymentType;
  gross_amount: number;
  order_id?: string;
  customer_details?: CustomerInput;
  item_details?: ItemInput[];
  custom_expiry?: { expiry_duration: number; unit: "second" | "minute" | "hour" | "day" };
  metadata?: Record<string, unknown>;
  custom_fields?: string[];
  bank?: string;
  va_number?: string;
  /** Passed on, and kept nowhere. */
  token_id?: string;
  authentication?: boolean;
  authorize?: boolean;
  save_token_id?: boolean;
  installment_term?: number;
  store?: string;
  acquirer?: string;
  callback_url?: string;
  bill_info1?: string;
  bill_info2?: string;
}
