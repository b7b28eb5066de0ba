/** What is known of an endpoint while things are sent to it. */

import type { Database } from "../../db/database.ts";
import { findEndpoint, type GatewayWebhookEndpoint } from "../../db/webhook_endpoints.ts";
import { serializeByKey } from "../../concurrency/serialize_by_key.ts";
import { judge, type JudgeDeps } from "./judge_endpoint.ts";
import type { Posted } from "./post.ts";

/** For so long it counts; on this instance changes are heard of at once. */
export const FRESH_MS = 1_000;

export interface KnownEndpoint {
  /** As it is, or was a moment ago; null: it is gone. */
  read(): Promise<GatewayWebhookEndpoint | null>;
  /** It was changed: what was known counts no more. */
  outdate(): void;
  /** What came of an attempt, and at which address, says something about it. */
  judge(posted: Posted & { url: string }): Promise<void>;
}

export interface KnownEndpointDeps extends JudgeDeps {
  database: Database;
}

/** `onRead`: it was read anew. */
export function createKnownEndpoint(
  deps: KnownEndpointDeps,
  id: string,
  onRead: () => void,
): KnownEndpoint {
  let endpoint: GatewayWebhookEndpoint | null = null;
  let readAt = -Infinity;
  return {
    async read() {
      if (performance.now() - readAt > FRESH_MS) {
        readAt = performance.now();
        endpoint = await deps.database.query((sql) => findEndpoint(sql, id), "find endpoint");
        onRead();
      }
      return endpoint;
    },
    outdate: () => void (readAt = -Infinity),
    // One after the other: each by what is known since the one before it.
    judge: (posted) =>
      serializeByKey(id, async () => {
        const known = endpoint;
        const judged = known && await judge(deps, known, posted);
        if (endpoint === known) endpoint = judged;
      }),
  };
}
