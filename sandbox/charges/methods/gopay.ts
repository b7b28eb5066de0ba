/** GoPay: one payment by link or QR code, or a charge of a linked account. */

import { paymentOptions } from "../../accounts/accounts.ts";
import { DAY, MINUTE } from "../../engine/time.ts";
import { Refusal } from "../../http/refusal.ts";
import { flag, list, object, text } from "../../http/validate.ts";
import type { InitialTransaction, Transaction } from "../../world/transaction.ts";
import type { Identity, World } from "../../world/world.ts";
import { Common, defineMethod, pending } from "./method.ts";

/** From this amount, a charge of a linked account needs a PIN, unless it is recurring. */
const PIN_FROM = 100_000;

/** Default time until a GoPay payment or authorization expires. */
export const GOPAY_HOLD = 15 * MINUTE;

export const gopay = defineMethod({
  name: "gopay",
  paymentType: "gopay",
  schema: Common.extend({
    gopay: object({
      enable_callback: flag().nullish(),
      callback_url: text(2000).nullish(),
      account_id: text(255).nullish(),
      payment_option_token: text(2000).nullish(),
      recurring: flag().nullish(),
      promotion_ids: list(text(255), 20).nullish(),
      pre_auth: flag().nullish(),
    }).refine(
      ({ account_id, payment_option_token }) => !account_id === !payment_option_token,
      "must have both account_id and payment_option_token, or neither",
    ).nullish(),
  }),
  start({ gopay, transaction_details: { gross_amount } }, world) {
    const callbackUrl = gopay?.callback_url ?? null;
    if (gopay?.account_id) {
      return startTokenized(world, gross_amount, {
        accountId: gopay.account_id,
        token: gopay.payment_option_token!,
        isPreAuth: gopay.pre_auth ?? false,
        isPinRequired: gross_amount >= PIN_FROM && !gopay.recurring,
        callbackUrl,
      });
    }
    return pending("GoPay transaction is created", {
      kind: "one_time",
      reference: world.random.hex(32),
      callbackUrl,
    });
  },
  fields(transaction, view, world) {
    const { status, details } = transaction;
    if (view === "operation" || (status === "pending" && view === "status")) {
      // Only charges of a linked account have a response of the wallet.
      const isOneTime = details.kind === "one_time";
      return {
        ...!isOneTime && channelResponse(transaction),
        actions: actions(transaction, world),
      };
    }
    if (status === "deny") return channelResponse(transaction);
    const isPaid = status === "settlement" || status.endsWith("refund");
    return isPaid ? { payment_option_type: details.option ?? "GOPAY_WALLET" } : {};
  },
  expiry: ({ kind }) =>
    kind === "verify"
      ? { standard: 5 * MINUTE, max: null }
      : { standard: GOPAY_HOLD, max: 7 * DAY },
  refunds: {
    isDirect: true,
    isPartial: true,
    days: ({ kind }) => kind === "one_time" ? 45 : 180,
  },
});

interface Tokenized {
  accountId: string;
  token: string;
  isPreAuth: boolean;
  isPinRequired: boolean;
  callbackUrl: string | null;
}

function startTokenized(world: World, amount: number, request: Tokenized): InitialTransaction {
  const account = world.accounts.get(request.accountId);
  if (!account) throw new Refusal(404, "Account doesn't exist.");
  const option = paymentOptions(account).find(({ token }) => token === request.token);
  if (account.status !== "ENABLED" || !option) {
    throw new Refusal(404, "GoPay Wallet doesn't exist.");
  }
  const { isPreAuth, callbackUrl } = request;
  const details = { kind: "tokenized", option: option.name, isPreAuth, callbackUrl };
  if (amount > Number(option.balance.value.split(".")[0])) {
    return {
      status: "deny",
      fraud: "accept",
      statusMessage: "GoPay transaction is denied",
      message: "GoPay transaction is denied",
      details: { ...details, channel: ["201", "Insufficient Balance"] },
    };
  }
  if (request.isPinRequired) {
    return pending("GoPay transaction is created", {
      ...details,
      kind: "verify",
      reference: world.random.hex(32),
    });
  }
  return {
    status: isPreAuth ? "authorize" : "settlement",
    fraud: "accept",
    statusMessage: isPreAuth
      ? "Success, GoPay transaction is authorized"
      : "Success, GoPay transaction is successful",
    details,
  };
}

function channelResponse({ details }: Transaction) {
  const [code, message] = (details.channel ?? ["200", "Success"]) as [string, string];
  return { channel_response_code: code, channel_response_message: message };
}

function actions({ id, details, status }: Transaction, world: Identity) {
  if (status !== "pending") return [];
  const url = world.publicUrl();
  const get = (name: string, path: string) => ({ name, method: "GET", url: url + path });
  if (details.kind === "verify") {
    const path = `/gopay/app/${id}`;
    return [get("verification-link-url", path), get("verification-link-app", path)];
  }
  return [
    get("generate-qr-code", `/v2/gopay/${id}/qr-code`),
    get("deeplink-redirect", `/gopay/app/${id}`),
    get("get-status", `/v2/${id}/status`),
    { name: "cancel", method: "POST", url: `${url}/v2/${id}/cancel`, fields: [] },
  ];
}
