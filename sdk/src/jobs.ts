/** Background jobs. */

import type { Client } from "#api/client";
import { getJob, listJobs, retryJob } from "#api/sdk";
import type { Job, ListJobsData } from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
import { Pager } from "./pager.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

export class Jobs {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** All jobs, newest first. Staff and viewers only. */
  list(query: ListJobsData["query"] = {}, options?: CallOptions): Pager<Job> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listJobs({ client: this.#client, query: { ...filter, cursor }, ...toRequestOptions(options) })
    );
  }

  /** One job. */
  get(id: string, options?: CallOptions): Promise<Job> {
    return dataOf(getJob({ client: this.#client, path: { pk: id }, ...toRequestOptions(options) }));
  }

  /** Polls the job until it is `succeeded` or `failed`. */
  wait(id: string, options?: WaitOptions): Promise<Job> {
    return waitUntil(
      (signal) => this.get(id, { signal }),
      (job) => job.status === "succeeded" || job.status === "failed",
      options,
    );
  }

  /** Retries a failed job. Staff only. */
  retry(id: string, options?: KeyedOptions): Promise<Job> {
    return dataOf(
      retryJob({ client: this.#client, path: { pk: id }, ...withIdempotencyKey(options) }),
    );
  }
}
