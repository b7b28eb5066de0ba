/** A valid example charge of each payment type, for the OpenAPI document. */

const customer_details = {
  first_name: "Budi",
  last_name: "Utomo",
  email: "budi@example.com",
  phone: "+628123456789",
};

const item_details = [{
  id: "sku-7",
  name: "Coffee beans, 1 kg",
  price: 75000,
  quantity: 2,
  category: "Groceries",
  url: "https://shop.example/coffee",
}];

export const CHARGE_EXAMPLES = {
  bank_transfer: {
    summary: "BCA virtual account",
    value: {
      payment_type: "bank_transfer",
      bank: "bca",
      gross_amount: 150000,
      customer_details,
      item_details,
    },
  },
  credit_card: {
    summary: "Card with 3-D Secure",
    value: {
      payment_type: "credit_card",
      token_id: "48111111-1114-d8a4b7c9-6c3b-4d4f-8f2e-1c9a7d2b5e60",
      gross_amount: 150000,
      customer_details,
    },
  },
  echannel: {
    summary: "Mandiri bill payment",
    value: {
      payment_type: "echannel",
      gross_amount: 150000,
      bill_info1: "Payment",
      bill_info2: "Coffee beans",
    },
  },
  gopay: {
    summary: "GoPay",
    value: {
      payment_type: "gopay",
      gross_amount: 150000,
      callback_url: "https://shop.example/thanks",
    },
  },
  shopeepay: {
    summary: "ShopeePay",
    value: {
      payment_type: "shopeepay",
      gross_amount: 150000,
      callback_url: "https://shop.example/thanks",
    },
  },
  ovo: {
    summary: "OVO",
    value: { payment_type: "ovo", gross_amount: 150000, customer_details },
  },
  dana: {
    summary: "DANA",
    value: { payment_type: "dana", gross_amount: 150000 },
  },
  qris: {
    summary: "QRIS, valid for two hours",
    value: {
      payment_type: "qris",
      gross_amount: 150000,
      acquirer: "gopay",
      custom_expiry: { expiry_duration: 2, unit: "hour" },
    },
  },
  cstore: {
    summary: "Cash at Indomaret",
    value: { payment_type: "cstore", store: "indomaret", gross_amount: 150000 },
  },
  akulaku: {
    summary: "Akulaku",
    value: { payment_type: "akulaku", gross_amount: 150000, customer_details, item_details },
  },
  kredivo: {
    summary: "Kredivo",
    value: {
      payment_type: "kredivo",
      gross_amount: 150000,
      customer_details: {
        ...customer_details,
        shipping_address: {
          first_name: "Budi",
          address: "Jalan Merdeka 17",
          city: "Jakarta",
          postal_code: "10110",
          country_code: "IDN",
        },
      },
      item_details,
    },
  },
} as const;
