/** A job that is about to be written. */

import type { NewJob } from "../../db/jobs.ts";
import { newId } from "../ids.ts";

export interface JobSubject {
  id: string;
  /** Whose job it is; null: nobody's but the staff's. */
  user_id: string | null;
}

export function newJob(
  task: string,
  { id, user_id }: JobSubject,
  payload: object,
  { runAt, now }: { runAt: Date; now: Date },
): NewJob {
  return { id: newId(now), task, subject_id: id, payload, user_id, run_at: runAt, created_at: now };
}
