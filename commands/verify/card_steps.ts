/** Steps for cards: tokens, BIN look-up, charges with each result, capture, reviews, 3-D Secure. */

import { act, again, AMOUNT, paid, payload, refund, statusAfter } from "./payment_steps.ts";
import type { Earlier, Step } from "./session.ts";

/** The gateway's public test cards. */
const CARDS = {
  accepted: "4811111111111114",
  "denied by the bank": "4911111111111113",
  "denied by fraud detection": "4611111111111116",
  challenged: "4511111111111117",
  points: "4617006959746656",
};

const [MONTH, YEAR, CVV] = ["12", "2030", "123"];

function token(name: string, card: keyof typeof CARDS = "accepted"): Step {
  return {
    name: `token ${name}`,
    operation: "getCardToken",
    args: () => [CARDS[card], MONTH, YEAR, CVV],
  };
}

/** A token and a charge with it. */
function chargeCard(name: string, card: keyof typeof CARDS, fields: object = {}): Step[] {
  return [
    token(`for ${name}`, card),
    {
      name: `charge ${name}`,
      operation: "charge",
      args: (earlier) => [
        payload(earlier, name, cardFields(earlier, `token for ${name}`, fields)),
      ],
    },
  ];
}

function cardFields({ take }: Earlier, from: string, fields: object = {}) {
  const token_id = take(from, "token_id");
  return { payment_type: "credit_card", credit_card: { token_id, ...fields } };
}

const TOKENS: Step[] = [
  token("of a card"),
  {
    name: "token, wrong card number",
    operation: "getCardToken",
    args: () => ["4811111111111115", MONTH, YEAR, CVV],
  },
  {
    name: "token, wrong client key",
    operation: "getCardToken",
    args: () => [CARDS.accepted, MONTH, YEAR, CVV, "SB-Mid-client-this-key-does-not-exist"],
  },
  { name: "register a card", operation: "registerCard", args: () => [CARDS.accepted, MONTH, YEAR] },
  token("of a card with points", "points"),
  {
    name: "points of a card",
    operation: "pointInquiry",
    args: ({ take }) => [take("token of a card with points", "token_id")],
  },
  { name: "BIN", operation: "getBin", args: () => ["45563300"] },
  { name: "BIN, unknown", operation: "getBin", args: () => ["00000000"] },
  { name: "BIN, wrong key", operation: "getBin", args: () => ["45563300"], hasWrongKey: true },
];

const CHARGES: Step[] = [
  ...chargeCard("card", "accepted"),
  act("status card", "getStatus", "charge card"),
  act("deny a card without a review", "deny", "charge card"),
  act("expire a captured card", "expire", "charge card"),
  refund("refund a captured card", "refund", "charge card", "card", AMOUNT),
  {
    name: "charge with a used token",
    operation: "charge",
    args: (earlier) => [payload(earlier, "used token", cardFields(earlier, "token for card"))],
  },
  act("cancel card", "cancel", "charge card"),
  statusAfter("cancel card"),
  ...chargeCard("card to be saved", "accepted", { save_token_id: true }),
  {
    name: "charge saved card",
    operation: "charge",
    args: (earlier) => [payload(earlier, "saved card", {
      payment_type: "credit_card",
      credit_card: { token_id: earlier.take("charge card to be saved", "saved_token_id") },
    })],
  },
  {
    name: "charge registered card",
    operation: "charge",
    args: (earlier) => [payload(earlier, "registered card", {
      payment_type: "credit_card",
      credit_card: { token_id: earlier.take("register a card", "saved_token_id") },
    })],
  },
  ...chargeCard("card denied by the bank", "denied by the bank"),
  act("status card denied by the bank", "getStatus", "charge card denied by the bank"),
  again("charge with the order id of a denied card", "charge card denied by the bank", {
    payment_type: "gopay",
  }),
  ...chargeCard("card denied by fraud detection", "denied by fraud detection"),
  act(
    "status card denied by fraud detection",
    "getStatus",
    "charge card denied by fraud detection",
  ),
];

const AUTHORIZATIONS: Step[] = [
  ...chargeCard("authorization", "accepted", { type: "authorize" }),
  act("status authorization", "getStatus", "charge authorization"),
  act("capture more than authorized", "capture", "charge authorization", AMOUNT + 1),
  act("capture a part", "capture", "charge authorization", 15_000),
  statusAfter("capture a part"),
  act("capture again", "capture", "charge authorization", 1_000),
  ...chargeCard("authorization to be cancelled", "accepted", { type: "authorize" }),
  act("cancel authorization", "cancel", "charge authorization to be cancelled"),
];

const REVIEWS: Step[] = [
  ...chargeCard("card to be approved", "challenged"),
  act("status card to be approved", "getStatus", "charge card to be approved"),
  act("approve card", "approve", "charge card to be approved"),
  statusAfter("approve card"),
  ...chargeCard("card to be denied", "challenged"),
  act("deny card", "deny", "charge card to be denied"),
  statusAfter("deny card"),
];

/** The code that the gateway's test page for 3-D Secure accepts. */
const CODE = "112233";

const THREE_DS: Step[] = [
  token("for 3-D Secure"),
  ...paid(
    "card with 3-D Secure",
    {},
    ({ redirect_url }) => `Open this page and enter the code ${CODE}:\n${redirect_url}`,
  ).map((step) =>
    step.operation === "charge"
      ? {
        ...step,
        args: (earlier: Earlier) => {
          const fields = cardFields(earlier, "token for 3-D Secure", { authentication: true });
          return [payload(earlier, "3-D Secure", fields)];
        },
      }
      : step
  ),
];

export const CARD_STEPS: Step[] = [
  ...TOKENS,
  ...CHARGES,
  ...AUTHORIZATIONS,
  ...REVIEWS,
  ...THREE_DS,
];
