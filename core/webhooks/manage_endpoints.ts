/** `createWebhookEndpoint` and all else that staff do with endpoints. */

import { insertJobs } from "../../db/jobs.ts";
import {
  changeEndpoint as change,
  type EndpointChanges,
  findEndpoint,
  type GatewayWebhookEndpoint,
  insertEndpoint,
  listEndpoints as list,
} from "../../db/webhook_endpoints.ts";
import type { Caller } from "../auth/caller.ts";
import { requireStaff } from "../auth/staff.ts";
import { invalidField, ServiceError } from "../errors.ts";
import type { EventName } from "../events/names.ts";
import { newId } from "../new_id.ts";
import { readPage } from "../records/read.ts";
import type { WebhookDeps } from "./deps.ts";
import { checkEndpointUrl } from "./endpoint_url.ts";
import { hastenJob } from "./hasten_webhooks.ts";
import { newSecret, sealSecret } from "./signature.ts";
import { type EndpointView, viewEndpoint } from "./views.ts";

export { DISABLED_REASONS } from "../../db/webhook_endpoints.ts";

/** How long what is sent is also signed with the secret before the newest. */
const ROTATION_MS = 24 * 60 * 60 * 1_000;

export interface EndpointInput {
  url: string;
  /** Null: every event. */
  event_names: EventName[] | null;
  description: string | null;
  enabled: boolean;
}

/** The only times that its secret is shown: when it is made. */
export type EndpointWithSecret = EndpointView & { secret: string };

export async function createWebhookEndpoint(
  deps: WebhookDeps,
  caller: Caller,
  { url, event_names, description, enabled }: EndpointInput,
): Promise<EndpointWithSecret> {
  requireStaff(caller);
  const now = new Date(deps.clock());
  const id = newId(now);
  const secret = newSecret();
  const endpoint: GatewayWebhookEndpoint = {
    id,
    url: await takeUrl(deps, url),
    event_names,
    description,
    disabled_reason: enabled ? null : "requested",
    failing_since: null,
    secret: sealSecret(deps.secrets, secret, id),
    previous_secret: null,
    previous_secret_until: null,
    event_count: 0,
    created_at: now,
    updated_at: now,
    deleted_at: null,
  };
  await deps.database.query((sql) => insertEndpoint(sql, endpoint), "insert endpoint");
  return { ...viewEndpoint(endpoint), secret };
}

export async function listWebhookEndpoints(
  { database }: WebhookDeps,
  caller: Caller,
  { limit, before }: { limit: number; before: string | null },
): Promise<{ endpoints: EndpointView[]; next: string | null }> {
  requireStaff(caller);
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { before, limit }), "list endpoints"),
  );
  return { endpoints: rows.map(viewEndpoint), next };
}

export async function readWebhookEndpoint(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
): Promise<EndpointView> {
  return viewEndpoint(await findForStaff(deps, caller, id));
}

/** What is left out stays as it is. An endpoint that is enabled again gets at once what waits for it. */
export async function updateWebhookEndpoint(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
  { url, enabled, ...input }: Partial<EndpointInput>,
): Promise<EndpointView> {
  const known = await findForStaff(deps, caller, id);
  const now = new Date(deps.clock());
  const isReopened = enabled === true && known.disabled_reason !== null;
  const changes: EndpointChanges = {
    ...input,
    ...url === undefined ? {} : { url: await takeUrl(deps, url) },
    // Why it is disabled already remains the reason.
    ...enabled === false && known.disabled_reason === null ? { disabled_reason: "requested" } : {},
    ...isReopened ? { disabled_reason: null } : {},
    ...isReopened || url !== undefined ? { failing_since: null } : {},
    updated_at: now,
  };
  const jobs = isReopened ? [hastenJob(id, now)] : [];
  const { changed, waiting } = await deps.database.transaction(async (sql) => ({
    changed: found(await change(sql, id, changes)),
    waiting: await insertJobs(sql, jobs),
  }), "change endpoint");
  for (const job of waiting) deps.jobQueue.enqueue(job);
  deps.publisher.publishEndpointChange(id);
  return viewEndpoint(changed);
}

/** Nothing more is sent to it; what was to be is forgotten by a job. */
export async function deleteWebhookEndpoint(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
): Promise<void> {
  await findForStaff(deps, caller, id);
  const now = new Date(deps.clock());
  await deps.database.query((sql) => change(sql, id, { deleted_at: now }), "delete endpoint");
  deps.publisher.publishEndpointChange(id);
  deps.publisher.publish([id]);
}

/** For a day what is sent is signed with both, so that receivers can change in their own time. */
export async function rotateWebhookSecret(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
): Promise<EndpointWithSecret> {
  const known = await findForStaff(deps, caller, id);
  const now = new Date(deps.clock());
  const secret = newSecret();
  const changes = {
    secret: sealSecret(deps.secrets, secret, id),
    previous_secret: known.secret,
    previous_secret_until: new Date(now.getTime() + ROTATION_MS),
    updated_at: now,
  };
  const changed = await deps.database.query((sql) => change(sql, id, changes), "rotate secret");
  deps.publisher.publishEndpointChange(id);
  return { ...viewEndpoint(found(changed)), secret };
}

export async function findForStaff(
  { database }: Pick<WebhookDeps, "database">,
  caller: Caller,
  id: string,
): Promise<GatewayWebhookEndpoint> {
  requireStaff(caller);
  const endpoint = await database.query((sql) => findEndpoint(sql, id), "find endpoint");
  return found(endpoint?.deleted_at ? null : endpoint);
}

function found(endpoint: GatewayWebhookEndpoint | null): GatewayWebhookEndpoint {
  if (!endpoint) throw new ServiceError("not_found");
  return endpoint;
}

async function takeUrl({ webhookRules }: WebhookDeps, url: string): Promise<string> {
  const checked = await checkEndpointUrl(url, webhookRules);
  if ("url" in checked) return checked.url;
  throw invalidField("url", checked.problem);
}
