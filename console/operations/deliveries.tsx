/** How webhook deliveries are shown: their status, and what the receiver answered. */

import type { FC } from "hono/jsx";
import type { DeliveryView } from "../../core/webhooks/views.ts";
import { Label, shorten, Time, type Tone } from "../shared/elements.tsx";
import type { View } from "../shared/session.ts";

const TONES: Record<DeliveryView["status"], Tone> = {
  pending: "wait",
  delivered: "good",
  failed: "bad",
};

export const DeliveryStatus: FC<{ view: View; status: DeliveryView["status"] }> = (
  { view, status },
) => <Label tone={TONES[status]}>{view.words.webhooksPage.statuses[status]}</Label>;

/** Characters of each part of a response. A page has 50 responses, and its size is limited. */
const MAX_PART = 70;

/** The receiver's response to the last attempt, or why there was none. */
export const DeliveryResult: FC<{ view: View; delivery: DeliveryView }> = ({ view, delivery }) => {
  const { status_code, answer, error, duration_ms, last_attempt_at } = delivery;
  const result = status_code ?? (error && view.words.message(error));
  const parts = [result, duration_ms === null ? null : `${duration_ms} ms`, answer];
  return (
    <>
      {parts.filter(Boolean).map(String).map((part) => shorten(part, MAX_PART)).join(" · ")}
      {last_attempt_at && (
        <span class="faint">
          <Time view={view} at={last_attempt_at} />
        </span>
      )}
    </>
  );
};
