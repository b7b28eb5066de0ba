/** The ways to pay that a linked account offers, each with the token a charge names it by. */

import { money } from "../transactions/transaction.ts";
import type { PayAccount } from "./account.ts";

export function paymentOptions(account: PayAccount) {
  const option = (name: string, amount: number) => ({
    name,
    active: true,
    balance: { value: money(amount), currency: "IDR" },
    metadata: {},
    token: btoa(JSON.stringify({ type: name, id: account.id })),
  });
  const wallet = option("GOPAY_WALLET", account.balance);
  return account.hasPayLater ? [wallet, option("PAY_LATER", 5_000_000)] : [wallet];
}
