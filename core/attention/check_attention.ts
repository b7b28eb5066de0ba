/**
 * `check_attention`: raises and clears what needs attention, with one event for each cause. The
 * instance that changes the row of a cause writes its event, so only one of several instances does.
 */

import {
  type GatewayAttention,
  listCauses,
  writeCause,
} from "../../db/reports/attention_causes.ts";
import { ATTENTION_CAUSES, type AttentionCause, type AttentionView } from "../events/attention.ts";
import { newId } from "../ids.ts";
import { dispatchAfterCommit } from "../records/change.ts";
import type { Service } from "../service.ts";
import { CAUSES, findCauses, type FoundCause } from "./causes.ts";

export interface AttentionResult {
  raised: AttentionCause[];
  cleared: AttentionCause[];
}

export async function checkAttention(service: Service): Promise<AttentionResult> {
  const known = await service.database.query(listCauses, "list causes");
  const found = await findCauses(service, raisedCauses(known));
  const result: AttentionResult = { raised: [], cleared: [] };
  for (const cause of ATTENTION_CAUSES) {
    const before = known.find((each) => each.cause === cause) ?? null;
    const isRaised = found[cause].count > 0;
    if (isRaised === (before !== null && before.since !== null)) continue;
    const isWritten = await writeChange(service, cause, before, found[cause]);
    if (isWritten) result[isRaised ? "raised" : "cleared"].push(cause);
  }
  return result;
}

export function raisedCauses(known: readonly GatewayAttention[]): Set<string> {
  return new Set(known.filter(({ since }) => since !== null).map(({ cause }) => cause));
}

/** False: another instance was faster. */
async function writeChange(
  service: Service,
  cause: AttentionCause,
  before: GatewayAttention | null,
  { count, since }: FoundCause,
): Promise<boolean> {
  const now = new Date(service.clock());
  const isRaised = count > 0;
  const attention: GatewayAttention = {
    id: before?.id ?? newId(now),
    cause,
    since: isRaised ? since ?? now : null,
    event_count: (before?.event_count ?? 0) + 1,
    updated_at: now,
  };
  const name = isRaised ? "attention_raised" : "attention_cleared";
  const event = {
    id: newId(now),
    name,
    resource: "attention" as const,
    resource_id: attention.id,
    sequence: attention.event_count,
    user_id: null,
    data: {
      ...viewAttention(service, { ...attention, since: attention.since ?? before!.since }, count),
      cleared_at: isRaised ? null : now.toISOString(),
      notification_id: null,
    },
    created_at: now,
    subscribers: service.events.tasksFor(name),
  };
  const written = await service.database.query(
    (sql) => writeCause(sql, attention, event),
    "store cause",
  );
  if (written.isWritten) dispatchAfterCommit(service, { events: [event] }, written);
  return written.isWritten;
}

function viewAttention(
  { links }: Pick<Service, "links">,
  { id, cause, since }: GatewayAttention,
  count: number,
): Omit<AttentionView, "cleared_at"> {
  const { title, next_step, path } = CAUSES[cause as AttentionCause];
  return {
    id,
    cause: cause as AttentionCause,
    is_raised: count > 0,
    title,
    next_step,
    count,
    since: since!.toISOString(),
    console_url: consoleUrl({ links }, path),
  };
}

/** Null: the service does not know its own address. */
export function consoleUrl({ links }: Pick<Service, "links">, path: string): string | null {
  const base = links.publicUrl();
  return base === null ? null : `${base}/console${path}`;
}
