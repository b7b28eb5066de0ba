/** Credit cards: charged at once, or after 3-D Secure. */

import { authorizeCard, cardDetails } from "../../cards/authorization.ts";
import { saveCard } from "../../cards/tokens.ts";
import { DAY, formatWib, MINUTE } from "../../engine/time.ts";
import { Refusal } from "../../http/refusal.ts";
import { flag, integer, list, object, oneOf, rupiah, text } from "../../http/validate.ts";
import type { Card } from "../../world/records.ts";
import type { Details, InitialTransaction, Transaction } from "../../world/transaction.ts";
import type { Identity, World } from "../../world/world.ts";
import { Common, defineMethod, type View } from "./method.ts";

const OLD_3DS =
  "Cards with 3DS version 1 or lower are not supported. Please use a card that supports 3DS version 2.";

export const CARD_BANKS = [
  "mandiri",
  "bni",
  "cimb",
  "bca",
  "maybank",
  "bri",
  "danamon",
  "mega",
] as const;

/** Whether the acquiring bank supports direct refunds. */
export function canRefundDirectly({ bank, channel }: Details): boolean {
  if (bank === "bni") return channel === "cybersource";
  return bank === "bca" || bank === "maybank" || bank === "bri";
}

export const creditCard = defineMethod({
  name: "credit_card",
  paymentType: "credit_card",
  schema: Common.extend({
    credit_card: object({
      token_id: text(255),
      authentication: flag().nullish(),
      callback_type: oneOf(["js_event", "form"]).nullish(),
      bank: oneOf(CARD_BANKS).nullish(),
      channel: text(20).nullish(),
      installment_term: integer(1, 60).nullish(),
      bins: list(text(20), 100).nullish(),
      type: oneOf(["authorize"]).nullish(),
      save_token_id: flag().nullish(),
      initiated_by: oneOf(["customer", "merchant"]).nullish(),
      point_redeem_amount: rupiah(-1).nullish(),
    }),
  }),
  start({ credit_card: request, transaction_details: { gross_amount } }, world) {
    const card = useCard(world, request.token_id);
    if (request.bins && !request.bins.some((bin) => isOfBin(card, bin))) {
      return denied(card, "Transaction is denied: the card's BIN is not allowed");
    }
    // BNI, the default, cannot cancel an authorization, so authorizations default to BCA.
    const bank = request.bank ?? (request.type === "authorize" ? "bca" : "bni");
    const details: Details = {
      masked: card.masked,
      behaviour: card.behaviour,
      bank,
      isOnUs: card.behaviour.bank === bank,
      channel: request.channel ?? (bank === "bni" ? "dragon" : "cybersource"),
      isPreAuth: request.type === "authorize",
      installment: request.installment_term ?? null,
      ...request.save_token_id && savedToken(world, card),
    };
    if (!request.authentication) {
      // The charge sets when it expires. The clock may have moved on since its own time was read.
      const { expiresAt: _, ...authorized } = authorizeCard(details, gross_amount, world);
      return { ...authorized, details };
    }
    if (card.behaviour.threeDs === "outdated") throw new Refusal(402, OLD_3DS);
    return {
      status: "pending",
      fraud: "accept",
      statusMessage: "Success, Credit Card transaction is successful",
      details: { ...details, threeDs: { token: world.random.hex(32), result: null } },
    };
  },
  fields,
  expiry: () => ({ standard: 10 * MINUTE, max: null }),
  refunds: { isDirect: true, isPartial: true, days: () => 180 },
});

/** Returns the card of a token. Deletes a one-time token, which is valid for one charge only. */
function useCard(world: World, tokenId: string): Card {
  const card = world.cards.get(tokenId);
  const isExpired = card?.expiresAt && card.expiresAt <= world.clock.now();
  if (!card || isExpired) throw new Refusal(411);
  if (!card.isSaved) world.cards.delete(card.id);
  return card;
}

/** `bin` is the first digits of a card number, or the name of the issuing bank. */
export function isOfBin({ masked, behaviour }: Card, bin: string): boolean {
  return /^\d+$/.test(bin) ? masked.startsWith(bin) : behaviour.bank === bin;
}

function denied(card: Card, message: string): InitialTransaction {
  return {
    status: "deny",
    fraud: "deny",
    statusMessage: message,
    message,
    details: { masked: card.masked, behaviour: card.behaviour, bank: "bni" },
  };
}

/** Saves the card for later charges, unless it is saved already. */
function savedToken(world: World, card: Card) {
  const { id } = card.isSaved ? card : saveCard(world, card);
  return { savedTokenId: id, savedUntil: world.clock.now() + 5 * 365 * DAY };
}

function fields(transaction: Transaction, view: View, world: Identity) {
  const { status, id } = transaction;
  const details = cardDetails(transaction);
  const { threeDs, installment, savedTokenId, savedUntil } = details;
  const isApproved = !["pending", "deny", "failure", "expire"].includes(status);
  const [code, message] = channelResponse(transaction);
  // The fraud detection system decides before the bank, so there is no response of a bank.
  const isDeniedByFds = status === "deny" && details.behaviour.outcome === "deny_by_fds";
  return {
    masked_card: details.masked,
    bank: details.bank,
    card_type: "credit",
    ...isApproved && { approval_code: approvalCode(id) },
    ...(isApproved || isDeniedByFds) && { on_us: details.isOnUs, channel: details.channel },
    ...status !== "pending" && {
      ...!isDeniedByFds && { channel_response_code: code, channel_response_message: message },
      eci: threeDs ? threeDs.result === "attempted" ? "06" : "05" : "07",
    },
    ...threeDs && { three_ds_version: "2" },
    ...threeDs?.result && {
      [view === "notification" ? "three_ds_challenge_completion" : "challenge_completion"]:
        threeDs.result === "otp",
    },
    ...view === "operation" && status === "pending" && threeDs && {
      redirect_url: `${world.publicUrl()}/v2/3ds/redirect/${threeDs.token}`,
    },
    // A string in charge responses, a number elsewhere, as the gateway sends it.
    ...typeof installment === "number" && {
      installment_term: view === "operation" ? String(installment) : installment,
    },
    ...savedTokenId !== undefined && savedUntil !== undefined && isApproved && {
      saved_token_id: savedTokenId,
      saved_token_id_expired_at: formatWib(savedUntil),
    },
  };
}

/** The card's fields in the response to an `approve` request of the merchant. */
export function cardFields(transaction: Transaction) {
  const { masked, bank } = cardDetails(transaction);
  return { masked_card: masked, bank, approval_code: approvalCode(transaction.id) };
}

function channelResponse(transaction: Transaction): [string, string] {
  const { status } = transaction;
  if (status !== "deny" && status !== "failure") return ["00", "Approved"];
  const { outcome } = cardDetails(transaction).behaviour;
  return outcome === "insufficient_funds" ? ["51", "Insufficient Funds"] : ["05", "Do not honour"];
}

function approvalCode(id: string): string {
  return String(parseInt(id.slice(0, 11).replace("-", ""), 16) % 1e13).padStart(13, "1");
}
