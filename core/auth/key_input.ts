/** The body of the request that creates an API key. */

import { object, omitNulls, oneOf, optionalIfEmpty, text, textLike } from "../fields/input.ts";
import { isPrintableText } from "./caller.ts";
import { ORDER_PREFIX, ORDER_PREFIX_RULE } from "./order_prefix.ts";

const printable = "must be 1-255 printable characters";

export const KeyInputSchema = omitNulls(object({
  user_id: text(255).refine(isPrintableText, printable).openapi({
    description: "User of the key. The user sees the resources that were created with any of its " +
      "keys.",
    example: "shop",
  }),
  role: oneOf(["user", "viewer"]).default("user").openapi({
    description: "- `user`: reads and changes its own resources\n" +
      "- `viewer`: reads what staff can read, and changes nothing\n\n" +
      "To create a staff key, use the command `keys create --staff`.",
    example: "user",
  }),
  name: optionalIfEmpty(text(255).refine(isPrintableText, printable)).openapi({
    description: "Your own name for the key, such as the program that uses it.",
    example: "web shop, 2027",
  }),
  order_prefix: optionalIfEmpty(textLike(9, ORDER_PREFIX, ORDER_PREFIX_RULE)).openapi({
    description: "What the order ids of this user begin with. Requests with the key must send " +
      "order ids that begin with it, and generated order ids do. While the key is valid, no other " +
      "user can use such order ids. Only for the role `user`; give all keys of a user the same " +
      "prefix.",
    example: "shop-",
  }),
})).refine(
  ({ role, order_prefix }) => role === "user" || order_prefix === undefined,
  { path: ["order_prefix"], message: "is only for the role user; remove it" },
).openapi("ApiKeyRequest", { description: "An API key to create." });
