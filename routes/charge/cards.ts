/** Charges of cards. */

import { flag, object, text, wholeNumber } from "../../core/input_fields.ts";
import { common, paymentType } from "./common.ts";
import { EXAMPLES } from "./examples.ts";
import { addUp } from "./items.ts";

export const CreditCardCharge = object({
  payment_type: paymentType("credit_card"),
  ...common,
  token_id: text(255).openapi({
    description:
      "Stands for the card: from the gateway's script in the customer's browser, or a saved one. " +
      "The number of a card never comes here.",
    example: "48111111-1114-d8a4b7c9-6c3b-4d4f-8f2e-1c9a7d2b5e60",
  }),
  authentication: flag().default(true).openapi({
    description: "3-D Secure: the customer proves to be the holder at `redirect_url`. Without it " +
      "the merchant bears the loss of a fraud.",
  }),
  authorize: flag().default(false).openapi({
    description: "Only holds the amount now; `capture` takes it, within 7 days.",
  }),
  save_token_id: flag().default(false).openapi({
    description: "Asks for a token that can be charged again. It is not kept here: read it in " +
      "`gateway_response` of `check_status`.",
  }),
  installment_term: wholeNumber(1, 60).optional().openapi({
    description: "Months of an instalment plan that the card's bank offers.",
    example: 6,
  }),
}).superRefine(addUp).openapi("CreditCardCharge", {
  description: "A card. With 3-D Secure the payment is `pending` and `redirect_url` is where to " +
    "send the customer; without it the answer says at once how it ended.",
  example: EXAMPLES.credit_card.value,
});
