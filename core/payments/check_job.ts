/** The job that looks into a call whose end is unknown. */

import { v7 as uuidv7 } from "uuid";
import type { NewJob } from "../../db/jobs.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { UNANSWERED_CHECK_MS } from "./check_times.ts";

export const CHECK_PAYMENT_STATUS = "check_payment_status";

export function checkJob(
  { id, user_id }: Pick<GatewayPayment, "id" | "user_id">,
  now: Date,
): NewJob {
  return {
    id: uuidv7(),
    task: CHECK_PAYMENT_STATUS,
    subject_id: id,
    payload: { payment_id: id },
    user_id,
    run_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
    created_at: now,
  };
}
