/** The body of `POST /charge/`: one kind for each payment type. */

import { z } from "@hono/zod-openapi";
import { PAYMENT_TYPES } from "../../core/payments/charge_input.ts";
import { omitNulls } from "../../core/input_fields.ts";
import { BankTransferCharge, CstoreCharge, EchannelCharge } from "./banks.ts";
import { CreditCardCharge } from "./cards.ts";
import { AkulakuCharge, KredivoCharge } from "./pay_later.ts";
import { DanaCharge, GopayCharge, OvoCharge, QrisCharge, ShopeepayCharge } from "./wallets.ts";

export const ChargeSchema = omitNulls(z.discriminatedUnion("payment_type", [
  BankTransferCharge,
  CreditCardCharge,
  EchannelCharge,
  GopayCharge,
  ShopeepayCharge,
  OvoCharge,
  DanaCharge,
  QrisCharge,
  CstoreCharge,
  AkulakuCharge,
  KredivoCharge,
], {
  error: ({ code }) =>
    code === "invalid_union" ? `must be one of ${PAYMENT_TYPES.join(", ")}` : "must be an object",
})).openapi("ChargeRequest", {
  description: "What to charge, and how; `payment_type` decides which members there are.",
});
