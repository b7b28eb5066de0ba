/** How checkouts are shown: their status, with what needs attention, and their methods. */

import type { FC } from "hono/jsx";
import { isMethod, METHODS } from "../../core/checkouts/methods.ts";
import type { CheckoutStatus } from "../../core/checkouts/states.ts";
import type { CheckoutView } from "../../core/checkouts/views.ts";
import { Label, type Tone } from "../shared/elements.tsx";
import { methodName } from "../shared/format.ts";
import type { View } from "../shared/session.ts";
import type { Words } from "../words/words.ts";

const TONES: Record<CheckoutStatus, Tone> = {
  open: "wait",
  processing: "wait",
  paid: "good",
  expired: "plain",
  cancelled: "plain",
};

interface StatusProps {
  view: View;
  checkout: Pick<CheckoutView, "status" | "is_late" | "extra_payment_id">;
}

/** The state as a coloured label, and a label for each thing that staff should look at. */
export const CheckoutStatusLabel: FC<StatusProps> = ({ view, checkout }) => {
  const { statuses, late, twice } = view.words.checkoutsPage;
  const { status, is_late, extra_payment_id } = checkout;
  return (
    <>
      <Label tone={TONES[status]}>{statuses[status]}</Label>
      {is_late && (
        <>
          {" "}
          <Label tone="bad">{late}</Label>
        </>
      )}
      {extra_payment_id !== null && (
        <>
          {" "}
          <Label tone="bad">{twice}</Label>
        </>
      )}
    </>
  );
};

/** A method of a checkout, such as `bca_va`; one that was removed since stays as it is. */
export function checkoutMethodName(words: Words, id: string): string {
  if (!isMethod(id)) return id;
  const { payment_type, bank, store } = METHODS[id].charge;
  return methodName(words, store ?? payment_type, bank);
}

/** The methods that a page offers. */
export function offeredNames({ words }: View, methods: readonly string[] | null): string {
  if (methods === null) return words.checkoutsPage.allMethods;
  return methods.map((id) => checkoutMethodName(words, id)).join(", ");
}
