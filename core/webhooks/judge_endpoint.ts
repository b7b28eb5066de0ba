/** What an attempt says about its endpoint. */

import type { Database } from "../../db/database.ts";
import { type GatewayWebhookEndpoint, recordEndpointHealth } from "../../db/webhook_endpoints.ts";
import { disable, type DisableDeps } from "./disable.ts";
import type { Posted } from "./post.ts";
import { isTaken } from "./send.ts";

/** An endpoint at which everything fails for so long is disabled. */
const PATIENCE_MS = 24 * 60 * 60 * 1_000;

/** What is there no more asks to be left alone. */
const GONE = 410;

export interface JudgeDeps extends DisableDeps {
  database: Database;
}

/** The endpoint as it is after that. What another address said of itself says nothing about it. */
export async function judge(
  deps: JudgeDeps,
  endpoint: GatewayWebhookEndpoint,
  posted: Posted & { url: string },
): Promise<GatewayWebhookEndpoint> {
  const { id, url, failing_since, disabled_reason } = endpoint;
  if (posted.url !== url || disabled_reason !== null) return endpoint;
  const now = new Date(deps.clock());
  const isFailing = !isTaken(posted);
  if (posted.status_code === GONE) return await disable(deps, endpoint, "gone");
  if (isFailing && failing_since && now.getTime() - failing_since.getTime() >= PATIENCE_MS) {
    return await disable(deps, endpoint, "failing");
  }
  // One success is enough to be trusted again.
  if (isFailing === (failing_since !== null)) return endpoint;
  const health = { id, url, failing_since: isFailing ? now : null };
  await deps.database.query((sql) => recordEndpointHealth(sql, health), "note health of endpoint");
  return { ...endpoint, ...health };
}
