/** Convenience stores: a code to be paid at the till of Indomaret or Alfamart. */

import { z } from "zod";
import { object, text } from "../http/validate.ts";
import { DAY } from "../world/time.ts";
import { Common, defineMethod, pending } from "./method.ts";
import { payNumber } from "./pay_number.ts";

export const cstore = defineMethod({
  name: "cstore",
  paymentType: "cstore",
  schema: Common.extend({
    cstore: object({
      store: text(20).toLowerCase().pipe(
        z.enum(["indomaret", "alfamart"], "must be indomaret or alfamart"),
      ),
      message: text(20, 0).nullish(),
      alfamart_free_text_1: text(40, 0).nullish(),
      alfamart_free_text_2: text(40, 0).nullish(),
      alfamart_free_text_3: text(40, 0).nullish(),
    }),
  }).superRefine(({ cstore, item_details }, context) => {
    if (cstore.store !== "alfamart") return;
    for (const [index, { name }] of (item_details ?? []).entries()) {
      if (!name.includes("|")) continue;
      const path = ["item_details", index, "name"];
      context.addIssue({ code: "custom", path, message: "must not contain |" });
    }
  }),
  start({ cstore: { store } }, world) {
    const number = payNumber(world, "", store === "alfamart" ? 16 : 14);
    const start = pending("Success, cstore transaction is successful", { store, number });
    return store === "indomaret" ? { ...start, fraud: null } : start;
  },
  fields: ({ details, status, id }, view) => ({
    payment_code: details.number,
    store: details.store,
    ...view !== "operation" && details.store === "indomaret" && status === "settlement" &&
      { approval_code: id.replaceAll(/\D/g, "").slice(0, 16) },
  }),
  expiry: () => ({ usual: DAY, most: 180 * DAY }),
  refunds: null,
});
