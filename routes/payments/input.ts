/** What actions on a payment are asked for with. */

import { amount, flag, object, text } from "../../core/input_fields.ts";

export const CaptureSchema = object({
  amount: amount().optional().openapi({
    description: "How much of what is held, at most all of it; all of it where left out. What is " +
      "not taken is let go.",
    example: 120000,
  }),
}).openapi("CaptureRequest", { description: "How much of a hold to take." });

export const RefundInputSchema = object({
  amount: amount().optional().openapi({
    description: "How much, at most what is left; all that is left where left out.",
    example: 50000,
  }),
  reason: text(255).optional().openapi({
    description: "Why, for your books and the gateway's.",
    example: "Out of stock",
  }),
  direct: flag().default(false).openapi({
    description: "Asks the customer's bank or wallet itself, which answers at once. Some banks " +
      "alone can do that.",
  }),
}).openapi("RefundRequest", { description: "How much to pay back, and why." });
