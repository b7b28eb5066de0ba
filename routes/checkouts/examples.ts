/** Examples for the OpenAPI document: checkouts, and the requests that create them. */

import type { z } from "@hono/zod-openapi";
import type { CheckoutInputSchema, CheckoutSchema } from "../../core/checkouts/schema.ts";
import type { Example, Examples } from "../../core/fields/response.ts";
import { PAYMENTS } from "../../core/payments/examples.ts";

type Checkout = z.output<typeof CheckoutSchema>;

export const CHECKOUT_REQUESTS = {
  simple: {
    summary: "Required fields only",
    value: { gross_amount: 150000 },
  },
  complete: {
    summary: "With a choice of methods and a way back",
    value: {
      gross_amount: 150000,
      order_id: "order-1894",
      item_details: [{ id: "sku-7", name: "Coffee beans, 1 kg", price: 75000, quantity: 2 }],
      customer_details: { first_name: "Budi", email: "budi@example.com" },
      enabled_payments: ["qris", "gopay", "bca_va"],
      finish_url: "https://shop.example/thanks",
      cancel_url: "https://shop.example/cart",
      language: "id",
      metadata: { cart: "c-1894" },
    },
  },
} satisfies Examples<z.input<typeof CheckoutInputSchema>>;

const OPEN: Checkout = {
  id: "0197a3d0-1c2b-7e44-9a6f-3b8d5e7c1f21",
  order_id: "order-1894",
  status: "open",
  gross_amount: "150000.00",
  currency: "IDR",
  checkout_url: "https://pay.shop.example/pay/AQGXo9AcK35Emm87jV58HyFXn2aQkW0Yx7bVt5Rr0Lk",
  enabled_payments: ["qris", "gopay", "bca_va"],
  finish_url: "https://shop.example/thanks",
  cancel_url: "https://shop.example/cart",
  language: "id",
  expires_at: "2026-03-06T04:12:09.000Z",
  ended_at: null,
  attempts: [],
  payment_id: null,
  payment: null,
  extra_payment_id: null,
  is_late: false,
  metadata: { cart: "c-1894" },
  custom_fields: null,
  created_at: "2026-03-05T04:12:09.000Z",
  updated_at: "2026-03-05T04:12:09.000Z",
};

const CHOSEN = {
  number: 1,
  method: "bca_va",
  order_id: "order-1894",
  status: "paid" as const,
  created_at: "2026-03-05T04:13:20.000Z",
  closed_at: "2026-03-05T04:15:40.000Z",
};

const PAID: Checkout = {
  ...OPEN,
  status: "paid",
  ended_at: "2026-03-05T04:15:40.000Z",
  attempts: [CHOSEN],
  payment_id: PAYMENTS.paid_virtual_account.value.id,
  payment: {
    ...PAYMENTS.paid_virtual_account.value,
    order_id: CHOSEN.order_id,
    checkout_id: OPEN.id,
  },
  updated_at: "2026-03-05T04:15:40.000Z",
};

export const CHECKOUTS = {
  open_checkout: { summary: "Open", value: OPEN },
  paid_checkout: { summary: "Paid", value: PAID },
  expired_checkout: {
    summary: "Expired",
    value: {
      ...OPEN,
      status: "expired",
      ended_at: "2026-03-06T04:12:10.000Z",
      updated_at: "2026-03-06T04:12:10.000Z",
    },
  },
  cancelled_checkout: {
    summary: "Cancelled",
    value: {
      ...OPEN,
      status: "cancelled",
      ended_at: "2026-03-05T05:00:00.000Z",
      updated_at: "2026-03-05T05:00:00.000Z",
    },
  },
} satisfies Examples<Checkout>;

/** The responses to `CHECKOUT_REQUESTS`. */
export const CREATED_CHECKOUTS = {
  simple: {
    summary: "Open, with every method that can work",
    value: {
      ...OPEN,
      order_id: "0197a3d0-1c2b-7e44-9a6f-3b8d5e7c1f21-c",
      enabled_payments: null,
      finish_url: null,
      cancel_url: null,
      language: null,
      metadata: null,
    },
  },
  complete: { summary: "Open", value: OPEN },
} satisfies Record<keyof typeof CHECKOUT_REQUESTS, Example<Checkout>>;

export const CHECKOUT_PAGE = {
  checkouts: {
    summary: "Two checkouts",
    value: [CHECKOUTS.cancelled_checkout.value, PAID].map((checkout): Checkout => ({
      ...checkout,
      checkout_url: null,
      payment: null,
    })),
  },
};
