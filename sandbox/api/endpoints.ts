/** Every endpoint of the gateway: its operation name, method, path and handler. */

import { describePreferences, updatePreferences } from "../accounts/preferences.ts";
import { getAccount, linkAccount, unlinkAccount } from "../accounts/accounts.ts";
import { createToken, describeBin, inquirePoints, registerCard } from "../cards/tokens.ts";
import * as actions from "../charges/actions.ts";
import { charge } from "../charges/charge.ts";
import { refund } from "../charges/refunds.ts";
import { Refusal } from "../http/refusal.ts";
import { convertInvoice, createInvoice, getInvoice, voidInvoice } from "../invoices/invoices.ts";
import { cancelSnapPage, createSnapPage } from "../snap/pages.ts";
import * as subscriptions from "../subscriptions/subscriptions.ts";
import type { World } from "../world/world.ts";
import {
  ACCOUNTS,
  BINS,
  CORE,
  type Family,
  INVOICES,
  SNAP,
  SUBSCRIPTIONS,
  TOKENS,
} from "./families.ts";

export interface Call {
  id: string;
  query: Record<string, string>;
  headers: Headers;
  body: unknown;
  isDeclinedByBank: boolean;
  isPendingAtBank: boolean;
}

export interface Endpoint {
  operation: string;
  method: "GET" | "POST" | "PATCH";
  path: string;
  family: Family;
  /**
   * Set if the body is validated before the idempotency key is checked. Otherwise `run` validates
   * the body.
   */
  read?: (body: unknown) => unknown;
  run: (world: World, call: Call) => Record<string, unknown>;
  http?: number;
  /** Limit of the body's size, if the API has its own. */
  maxBytes?: number;
}

type Run = Endpoint["run"];

function endpoint(family: Family, method: Endpoint["method"]) {
  return (operation: string, path: string, run: Run): Endpoint => ({
    operation,
    method,
    path,
    family,
    run,
  });
}

const get = endpoint(CORE, "GET");
const post = endpoint(CORE, "POST");
const token = endpoint(TOKENS, "GET");
const readAccount = endpoint(ACCOUNTS, "GET");
const writeAccount = endpoint(ACCOUNTS, "POST");
const readSubscription = endpoint(SUBSCRIPTIONS, "GET");
const writeSubscription = endpoint(SUBSCRIPTIONS, "POST");
const patchSubscription = endpoint(SUBSCRIPTIONS, "PATCH");
const readInvoice = endpoint(INVOICES, "GET");
const writeInvoice = endpoint(INVOICES, "POST");
const patchInvoice = endpoint(INVOICES, "PATCH");
const bins = endpoint(BINS, "GET");
const readSnap = endpoint(SNAP, "GET");
const writeSnap = endpoint(SNAP, "POST");
const patchSnap = endpoint(SNAP, "PATCH");

/** The gateway documents 16 kB. */
const SNAP_MAX_BYTES = 16_000;

/** Fixed paths come before paths with an id in the same position. */
export const ENDPOINTS: Endpoint[] = [
  post(
    "charge",
    "/v2/charge",
    (world, { body, headers }) => charge(world, body, { notify: notificationHeaders(headers) }),
  ),
  post(
    "capture",
    "/v2/capture",
    (world, { body, isDeclinedByBank }) => actions.capture(world, body, isDeclinedByBank),
  ),
  token("card_token", "/v2/token", (world, { query }) => createToken(world, query)),
  token("card_register", "/v2/card/register", (world, { query }) => registerCard(world, query)),
  get("point_inquiry", "/v2/point_inquiry/:id", (world, { id }) => inquirePoints(world, id)),
  writeAccount(
    "pay_account_create",
    "/v2/pay/account",
    (world, { body }) => linkAccount(world, body),
  ),
  readAccount("pay_account_get", "/v2/pay/account/:id", (world, { id }) => getAccount(world, id)),
  writeAccount(
    "pay_account_unbind",
    "/v2/pay/account/:id/unbind",
    (world, { id }) => unlinkAccount(world, id),
  ),
  get("status", "/v2/:id/status", (world, { id }) => actions.getStatus(world, id)),
  get(
    "status_b2b",
    "/v2/:id/status/b2b",
    (world, { id, query }) => actions.getStatusB2b(world, id, query),
  ),
  post("cancel", "/v2/:id/cancel", (world, { id }) => actions.cancel(world, id)),
  post("expire", "/v2/:id/expire", (world, { id }) => actions.expire(world, id)),
  post("approve", "/v2/:id/approve", (world, { id }) => actions.approve(world, id)),
  post("deny", "/v2/:id/deny", (world, { id }) => actions.deny(world, id)),
  post(
    "refund",
    "/v2/:id/refund",
    (world, { id, body, isDeclinedByBank, isPendingAtBank }) =>
      refund(world, id, body, { isDirect: false, isDeclinedByBank, isPendingAtBank }),
  ),
  post(
    "direct_refund",
    "/v2/:id/refund/online/direct",
    (world, { id, body, isDeclinedByBank, isPendingAtBank }) =>
      refund(world, id, body, { isDirect: true, isDeclinedByBank, isPendingAtBank }),
  ),

  {
    ...writeSubscription(
      "subscription_create",
      "/v1/subscriptions",
      (world, { body }) =>
        subscriptions.createSubscription(world, body as subscriptions.CreateRequest),
    ),
    read: subscriptions.readCreate,
  },
  readSubscription(
    "subscription_get",
    "/v1/subscriptions/:id",
    (world, { id }) => subscriptions.getSubscription(world, id),
  ),
  patchSubscription(
    "subscription_update",
    "/v1/subscriptions/:id",
    (world, { id, body }) => subscriptions.updateSubscription(world, id, body),
  ),
  writeSubscription(
    "subscription_disable",
    "/v1/subscriptions/:id/disable",
    (world, { id }) => subscriptions.disableSubscription(world, id),
  ),
  writeSubscription(
    "subscription_enable",
    "/v1/subscriptions/:id/enable",
    (world, { id }) => subscriptions.enableSubscription(world, id),
  ),
  writeSubscription(
    "subscription_cancel",
    "/v1/subscriptions/:id/cancel",
    (world, { id }) => subscriptions.cancelSubscription(world, id),
  ),

  {
    ...writeInvoice(
      "invoice_create",
      "/v1/invoices",
      (world, { body }) => createInvoice(world, body),
    ),
    http: 201,
  },
  readInvoice("invoice_get", "/v1/invoices/:id", (world, { id }) => getInvoice(world, id)),
  patchInvoice(
    "invoice_void",
    "/v1/invoices/:id/void",
    (world, { id, body }) => voidInvoice(world, id, body),
  ),
  patchInvoice(
    "invoice_convert",
    "/v1/invoices/:id/convert",
    (world, { id }) => convertInvoice(world, id),
  ),

  {
    ...writeSnap(
      "snap_create",
      "/snap/v1/transactions",
      (world, { body, headers }) => createSnapPage(world, body, notificationHeaders(headers)),
    ),
    http: 201,
    maxBytes: SNAP_MAX_BYTES,
  },
  writeSnap(
    "snap_cancel",
    "/snap/v1/transactions/:id/cancel",
    (world, { id }) => cancelSnapPage(world, id),
  ),
  readSnap(
    "merchant_preferences",
    "/snap/v3/merchant-preferences",
    (world) => describePreferences(world),
  ),
  patchSnap(
    "merchant_preferences_update",
    "/snap/v3/merchant-preferences",
    (world, { body }) => updatePreferences(world, body),
  ),

  bins("bin", "/v1/bins/:id", (_world, { id }) => {
    const data = describeBin(id);
    if (!data) throw new Refusal(404, "The requested resource is not found");
    return { data };
  }),
];

/** The gateway accepts at most this many URLs per header. */
const MAX_URLS = 3;

function notificationHeaders(headers: Headers) {
  return {
    override: parseUrls(headers.get("x-override-notification")),
    append: parseUrls(headers.get("x-append-notification")),
  };
}

/** The gateway also accepts text that is not a URL, but sends nothing to it. */
function parseUrls(header: string | null): string[] {
  const urls = (header ?? "").split(",").map((url) => url.trim().slice(0, 2000)).filter(Boolean);
  // Clients may repeat the header, so the same URL counts once.
  return [...new Set(urls)].slice(0, MAX_URLS);
}
