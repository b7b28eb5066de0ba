/** A linked GoPay account as the sandbox keeps it. */

import type { Stored } from "../world/table.ts";

export interface PayAccount extends Stored {
  status: "PENDING" | "ENABLED" | "DISABLED" | "EXPIRED";
  phone: string;
  balance: number;
  hasPayLater: boolean;
  redirectUrl: string | null;
  /** A link nobody followed is of no use after this. */
  expiresAt: number;
}
