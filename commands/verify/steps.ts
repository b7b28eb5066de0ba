/**
 * All steps in their order, and the steps for Snap pages, invoices, subscriptions and linked
 * accounts.
 */

import type { JsonObject } from "../../core/gateway/json.ts";
import { CARD_STEPS } from "./card_steps.ts";
import type { Operation } from "./recordings.ts";
import {
  act,
  actionUrl,
  AMOUNT,
  payload,
  PAYMENT_STEPS,
  refund,
  statusAfter,
} from "./payment_steps.ts";
import { type Earlier, NotRun, type Step } from "./session.ts";

const NO_ID = "00000000-0000-4000-8000-000000000000";

/** An operation on the resource of an earlier step. */
function on(name: string, operation: Operation, from: string, member = "id"): Step {
  return { name, operation, args: ({ take }) => [take(from, member)] };
}

function invoice(earlier: Earlier, order: string, more: object = {}): object {
  return {
    order_id: earlier.id(order),
    invoice_number: earlier.id(order),
    invoice_date: earlier.time(0),
    due_date: earlier.time(7),
    customer_details: { name: "Budi", email: "budi@example.com" },
    item_details: [{ description: "Coffee", quantity: 2, price: AMOUNT / 2 }],
    payment_type: "payment_link",
    payment_link: { enabled_payments: ["bca_va"] },
    ...more,
  };
}

const createInvoice = (name: string, order: string, more?: object): Step => ({
  name,
  operation: "createInvoice",
  args: (earlier) => [
    invoice(earlier, order, more),
    { idempotencyKey: earlier.id(`${name} key`) },
  ],
});

function openPage(name: string, order = "snap"): Step {
  return {
    name,
    operation: "createSnapPage",
    args: ({ id }) => [{
      transaction_details: { order_id: id(order), gross_amount: AMOUNT },
      enabled_payments: ["credit_card"],
      credit_card: { secure: true },
    }],
  };
}

/** Unused pages only: a card is entered in a browser. */
const SNAP_PAGES: Step[] = [
  openPage("open Snap page"),
  {
    name: "status of an unused Snap page",
    operation: "getStatus",
    args: ({ id, body }) => {
      body("open Snap page");
      return [id("snap")];
    },
  },
  openPage("open Snap page again"),
  on("cancel replaced Snap page", "cancelSnapPage", "open Snap page", "token"),
  on("cancel Snap page", "cancelSnapPage", "open Snap page again", "token"),
  on("cancel Snap page again", "cancelSnapPage", "open Snap page again", "token"),
  { name: "cancel Snap page, unknown token", operation: "cancelSnapPage", args: () => [NO_ID] },
  openPage("open Snap page after its cancellation"),
  {
    name: "open Snap page without an order id",
    operation: "createSnapPage",
    args: () => [{ transaction_details: { gross_amount: AMOUNT } }],
  },
  { ...openPage("open Snap page, wrong server key", "snap with a wrong key"), hasWrongKey: true },
];

const INVOICES: Step[] = [
  createInvoice("create invoice", "invoice"),
  { ...createInvoice("create invoice", "invoice"), name: "create invoice with the same key again" },
  createInvoice("create invoice with an order id in use", "invoice"),
  createInvoice("create invoice without items", "empty invoice", { item_details: [] }),
  createInvoice("create invoice with a virtual account", "va invoice", {
    payment_type: "virtual_account",
    payment_link: undefined,
    virtual_accounts: [{ name: "bca_va" }],
  }),
  on("invoice", "getInvoice", "create invoice"),
  on("void invoice", "voidInvoice", "create invoice"),
  {
    ...on("invoice, voided", "getInvoice", "create invoice"),
    args: ({ body, take }) => {
      body("void invoice");
      return [take("create invoice", "id")];
    },
  },
  on("void invoice again", "voidInvoice", "create invoice"),
  { name: "invoice, unknown", operation: "getInvoice", args: () => ["0".repeat(24)] },
  {
    name: "invoice, wrong server key",
    operation: "getInvoice",
    args: () => ["0".repeat(24)],
    hasWrongKey: true,
  },
];

function subscription({ id, take, time }: Earlier, more: object = {}): object {
  return {
    name: id("subscription"),
    amount: String(AMOUNT),
    currency: "IDR",
    payment_type: "credit_card",
    token: take("register a card", "saved_token_id"),
    schedule: { interval: 1, interval_unit: "month", max_interval: 12, start_time: time(7) },
    metadata: { subscription_ref: "verify" },
    ...more,
  };
}

const createSubscription: Step = {
  name: "create subscription",
  operation: "createSubscription",
  args: (earlier) => [
    subscription(earlier),
    { idempotencyKey: earlier.id("subscription key") },
  ],
};

/** A change of the subscription, and the subscription after it. */
function changeSubscription(name: string, operation: Operation): Step[] {
  return [
    on(`${name} subscription`, operation, "create subscription"),
    {
      ...on(`subscription after ${name}`, "getSubscription", "create subscription"),
      args: ({ body, take }) => {
        body(`${name} subscription`);
        return [take("create subscription", "id")];
      },
    },
  ];
}

const [UPDATE, AFTER_UPDATE] = changeSubscription("update", "updateSubscription");

const SUBSCRIPTIONS: Step[] = [
  createSubscription,
  { ...createSubscription, name: "create subscription with the same key again" },
  {
    name: "create subscription without an amount",
    operation: "createSubscription",
    args: (earlier) => [subscription(earlier, { amount: undefined })],
  },
  on("subscription", "getSubscription", "create subscription"),
  {
    ...UPDATE!,
    args: ({ id, take }) => [take("create subscription", "id"), {
      name: id("subscription"),
      amount: String(AMOUNT + 1_000),
      currency: "IDR",
      token: take("register a card", "saved_token_id"),
    }],
  },
  AFTER_UPDATE!,
  ...changeSubscription("disable", "disableSubscription"),
  ...changeSubscription("enable", "enableSubscription"),
  ...changeSubscription("cancel", "cancelSubscription"),
  { name: "subscription, unknown", operation: "getSubscription", args: () => [NO_ID] },
  {
    name: "subscription, wrong server key",
    operation: "getSubscription",
    args: () => [NO_ID],
    hasWrongKey: true,
  },
];

function link(name: string, phone_number: string): Step {
  const redirect_url = "https://shop.example/linked";
  const gopay_partner = { phone_number, country_code: "62", redirect_url };
  return {
    name,
    operation: "createPayAccount",
    args: () => [{ payment_type: "gopay", gopay_partner }],
  };
}

function linkedWallet({ body, take }: Earlier, more: object = {}): object {
  const { payment_options } = (body("account, linked").metadata ?? {}) as JsonObject;
  const [option] = Array.isArray(payment_options) ? payment_options as JsonObject[] : [];
  if (!option) throw new NotRun('the response to "account, linked" has no payment option');
  return {
    payment_type: "gopay",
    gopay: {
      account_id: take("account, linked", "account_id"),
      payment_option_token: option.token,
      ...more,
    },
  };
}

const ACCOUNTS: Step[] = [
  link("link account", "81234567891"),
  link("link account, unknown phone number", "123450001"),
  link("link account, blocked phone number", "123450002"),
  on("account, pending", "getPayAccount", "link account", "account_id"),
  on("unlink pending account", "unbindPayAccount", "link account", "account_id"),
  { name: "account, unknown", operation: "getPayAccount", args: () => [NO_ID] },
  {
    ...on("account, linked", "getPayAccount", "link account", "account_id"),
    person: ({ body, take }) => ({
      text: `Open this page and link the account:\n${
        actionUrl(body("link account"), "activation-link-url")
      }`,
      controlPath: `accounts/${take("link account", "account_id")}/activate`,
    }),
  },
  {
    name: "charge linked account",
    operation: "charge",
    args: (earlier) => [payload(earlier, "linked", linkedWallet(earlier))],
  },
  statusAfter("charge linked account"),
  refund("refund linked account", "directRefund", "charge linked account", "linked", AMOUNT),
  {
    name: "charge linked account, authorization",
    operation: "charge",
    args: (earlier) => [
      payload(earlier, "linked authorization", linkedWallet(earlier, { pre_auth: true })),
    ],
  },
  act(
    "capture linked account",
    "capture",
    "charge linked account, authorization",
    AMOUNT,
  ),
  on("unlink account", "unbindPayAccount", "account, linked", "account_id"),
];

export const STEPS: Step[] = [
  ...PAYMENT_STEPS,
  ...CARD_STEPS,
  ...SNAP_PAGES,
  ...INVOICES,
  ...SUBSCRIPTIONS,
  ...ACCOUNTS,
];
