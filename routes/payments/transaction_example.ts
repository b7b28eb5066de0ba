/** Example of a gateway transaction: a paid virtual account. */

export const SETTLED_TRANSACTION = {
  status_code: "200",
  status_message: "midtrans payment notification",
  transaction_id: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  order_id: "order-1893",
  merchant_id: "G812785002",
  gross_amount: "150000.00",
  currency: "IDR",
  payment_type: "bank_transfer",
  transaction_time: "2026-03-05 11:12:09",
  transaction_status: "settlement",
  fraud_status: "accept",
  expiry_time: "2026-03-06 11:12:09",
  settlement_time: "2026-03-05 11:15:40",
  va_numbers: [{ bank: "bca", va_number: "812785002530231" }],
  payment_amounts: [],
  metadata: { payment_ref: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5" },
};
