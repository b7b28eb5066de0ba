/** Jobs: what the service does in the background. */

import type { Client } from "#api/client";
import { getJob, listJobs, retryJob } from "#api/sdk";
import type { Job, ListJobsData } from "#api/types";
import { answer, type CallOptions, plain } from "./call.ts";
import { Pager } from "./pager.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

export class Jobs {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** For staff: all of them, newest first. */
  list(query: ListJobsData["query"] = {}, options?: CallOptions): Pager<Job> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listJobs({ client: this.#client, query: { ...filter, cursor }, ...plain(options) })
    );
  }

  /** How one stands. */
  get(id: string, options?: CallOptions): Promise<Job> {
    return answer(getJob({ client: this.#client, path: { id }, ...plain(options) }));
  }

  /** Reads the job until it has `succeeded` or `failed`. */
  wait(id: string, options?: WaitOptions): Promise<Job> {
    return waitUntil(
      (signal) => this.get(id, { signal }),
      (job) => job.status === "succeeded" || job.status === "failed",
      options,
    );
  }

  /** For staff: has a failed one run again. */
  retry(id: string, options?: CallOptions): Promise<Job> {
    return answer(retryJob({ client: this.#client, path: { id }, ...plain(options) }));
  }
}
