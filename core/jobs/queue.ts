/** The interface of a job queue for the process that runs jobs. */

import type { JobQueue } from "../service.ts";
import type { Worker } from "./worker.ts";

export interface OpenJobQueue extends JobQueue {
  /** From now on calls `wake` of the worker whenever a job may be due. */
  start(wake: Worker["wake"]): void;
}
