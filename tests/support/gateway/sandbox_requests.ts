/** Valid requests to the gateway, for tests to modify. */

export const SUBSCRIPTION = {
  name: "MONTHLY_2024",
  amount: "14000",
  currency: "IDR",
  payment_type: "credit_card",
  token: "48111111sHfwaXChScvGGBGMLQGf1114",
  schedule: { interval: 1, interval_unit: "month", max_interval: 12 },
  retry_schedule: { interval: 1, interval_unit: "hour", max_interval: 2 },
  metadata: { plan: "small" },
  customer_details: { first_name: "Budi", email: "budi@shop.example", phone: "+62812345678" },
};

/** The amounts of the gateway's example, which give a total of 13324. */
export const INVOICE = {
  order_id: "invoice-order-1",
  invoice_number: "INV-1",
  due_date: "2099-08-06 20:03:04 +0700",
  invoice_date: "2099-08-01 20:03:04 +0700",
  customer_details: {
    id: "c-1",
    name: "Budi",
    email: "budi@shop.example",
    phone: "628123456789",
  },
  item_details: [{ item_id: "A1", description: "A thing", quantity: 2, price: 1_000 }],
  payment_type: "payment_link",
  payment_link: { is_custom_expiry: false, enabled_payments: ["bca_va", "gopay"] },
  amount: { vat: "12313", discount: "1000", shipping: "11" },
  notes: "Thank you",
};
