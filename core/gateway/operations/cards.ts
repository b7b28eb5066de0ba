/** Operations on cards. */

import { Bin, CardToken, Points, RegisteredCard } from "../answers.ts";
import type { Ask, CallOptions } from "../ask.ts";
import { type Draft, get, path } from "../draft.ts";

export function cardOperations(ask: Ask, configuredClientKey: string | null) {
  return {
    async getCardToken(
      cardNumber: string,
      cardExpMonth: string | number,
      cardExpYear: string | number,
      cardCvv: string,
      clientKey?: string,
      options?: CallOptions,
    ) {
      const draft = forCard("/v2/token", clientKey, {
        card_number: cardNumber,
        card_exp_month: cardExpMonth,
        card_exp_year: cardExpYear,
        card_cvv: cardCvv,
      });
      return await ask(CardToken, draft, options);
    },
    async registerCard(
      cardNumber: string,
      cardExpMonth: string | number,
      cardExpYear: string | number,
      clientKey?: string,
      options?: CallOptions,
    ) {
      const draft = forCard("/v2/card/register", clientKey, {
        card_number: cardNumber,
        card_exp_month: cardExpMonth,
        card_exp_year: cardExpYear,
      });
      return await ask(RegisteredCard, draft, options);
    },
    async pointInquiry(tokenId: string, options?: CallOptions) {
      const draft = get(path`/v2/point_inquiry/${tokenId}`);
      return await ask(Points, { ...draft, secrets: [tokenId] }, options);
    },
    async getBin(binNumber: string, options?: CallOptions) {
      return await ask(Bin, get(path`/v1/bins/${binNumber}`), options);
    },
  };

  /** These are GETs that make something, and know the client key alone. */
  function forCard(path: string, clientKey: string | undefined, card: Draft["query"]): Draft {
    const client_key = clientKey ?? configuredClientKey;
    if (!client_key) throw new TypeError("Cards need a client key: set GATEWAY_CLIENT_KEY");
    return { ...get(path, { client_key, ...card }), isRead: false, usesServerKey: false };
  }
}
