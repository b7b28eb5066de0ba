/** Mandiri bill payment. */

import { object, text } from "../http/validate.ts";
import { DAY } from "../world/time.ts";
import { Common, defineMethod, pending } from "./method.ts";
import { payNumber } from "./pay_number.ts";

const info = text(255).nullish();

export const echannel = defineMethod({
  name: "echannel",
  paymentType: "echannel",
  schema: Common.extend({
    echannel: object({
      bill_info1: text(255),
      bill_info2: text(255),
      bill_info3: info,
      bill_info4: info,
      bill_info5: info,
      bill_info6: info,
      bill_info7: info,
      bill_info8: info,
      bill_key: text(255).regex(/^\d+$/, "must be numeric digits").nullish(),
    }),
  }),
  start: ({ echannel: { bill_info1, bill_info2, bill_key } }, world) =>
    pending("OK, Mandiri Bill transaction is successful", {
      number: payNumber(world, "", 12, bill_key),
      // The bank's screen has room for this much.
      info: [bill_info1.slice(0, 10), bill_info2.slice(0, 30)],
    }),
  fields: ({ details }) => ({ bill_key: details.number, biller_code: "70012" }),
  expiry: () => ({ usual: DAY, most: 180 * DAY }),
  refunds: null,
});
