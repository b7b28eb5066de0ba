/** What a card transaction remembers of its card. */

import type { Details } from "../transactions/transaction.ts";
import type { CardBehaviour } from "./card.ts";

export interface CardDetails {
  masked: string;
  behaviour: CardBehaviour;
  /** The acquirer. */
  bank: string;
  channel?: string;
  isOnUs?: boolean;
  isPreAuth?: boolean;
  installment?: number | null;
  /** Where 3-D Secure was asked for; `result` is null until the customer is back. */
  threeDs?: { token: string; result: string | null };
  savedTokenId?: string;
  savedUntil?: number;
}

/** Every method has details of its own; those of a card transaction are these. */
export function cardDetails({ details }: { details: Details }): CardDetails {
  return details as unknown as CardDetails;
}
