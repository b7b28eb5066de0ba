/** A card behind a token: what the sandbox remembers is how it behaves, never its number. */

import type { Stored } from "../world/table.ts";

export interface Card extends Stored {
  masked: string;
  brand: "visa" | "mastercard" | "jcb" | "amex";
  behaviour: CardBehaviour;
  /** A saved token stays; a one-time token goes with its use or its time. */
  isSaved: boolean;
  expiresAt: number | null;
}

export interface CardBehaviour {
  outcome: "accept" | "challenge" | "deny_by_bank" | "deny_by_fds" | "insufficient_funds";
  /** Amounts up to this are accepted all the same. */
  deniesAbove?: number;
  threeDs: ThreeDsFlow;
  /** The issuing bank, where the card is known for it. */
  bank?: string;
}

/**
 * `otp`: the customer types a code. `frictionless` and `attempted`: nothing to type. `slow`: accepted
 * after a minute. `impossible`: refused by the issuer. `outdated`: version 1, which is not taken.
 */
export type ThreeDsFlow =
  | "otp"
  | "frictionless"
  | "attempted"
  | "slow"
  | "impossible"
  | "outdated";
