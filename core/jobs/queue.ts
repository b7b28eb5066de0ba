/** The interface of a job queue for the process that runs jobs. */

import type { JobQueue } from "../outbox.ts";

export interface OpenJobQueue extends JobQueue {
  /** From now on calls `wake` whenever a job may be due. */
  start(wake: () => void): void;
}
