/** What callers changed, tried to change, and exported. Staff and viewers only. */

import type { Client } from "#api/client";
import { listAudit } from "#api/sdk";
import type { AuditEntry, ListAuditData } from "#api/types";
import { type CallOptions, toRequestOptions } from "./call.ts";
import { Pager } from "./pager.ts";

export class Audit {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Newest first. */
  list(query: ListAuditData["query"] = {}, options?: CallOptions): Pager<AuditEntry> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listAudit({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }
}
