/** `newJob`: a job that a change of a record stores. */

import type { NewJob } from "../../db/jobs/jobs.ts";
import { newId } from "../ids.ts";

export interface JobSubject {
  id: string;
  /** The owner of the job; null: visible only to staff and viewers. */
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
