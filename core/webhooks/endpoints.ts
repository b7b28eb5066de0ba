/** Webhook endpoints. Staff and viewers can list and read them; staff can change and test them. */

import { insertJobs } from "../../db/jobs/jobs.ts";
import {
  changeEndpoint,
  type EndpointChanges,
  findEndpoint,
  type GatewayWebhookEndpoint,
  insertEndpoint,
  listEndpoints,
  listFailingEndpoints,
  rotateSecret,
} from "../../db/webhooks/endpoints.ts";
import { type Caller, requireReadAll, requireStaff } from "../auth/caller.ts";
import { invalidField, ServiceError } from "../errors.ts";
import { type EventName, TEST_EVENT_NAME } from "../events/names.ts";
import { type Change, type ChangedOnce, changeOnce } from "../idempotency/change_once.ts";
import type { RequestKey, RequestResult } from "../idempotency/keys.ts";
import { firstIdAt, newId } from "../ids.ts";
import { readPage } from "../lists/page.ts";
import { checkEndpointUrl } from "../posting/endpoint_url.ts";
import type { PostResult } from "../posting/post.ts";
import type { Service } from "../service.ts";
import { isAccepted, send } from "./send.ts";
import { newSecret, openSecret, sealSecret } from "./signature.ts";
import { resumeJob } from "./sweep.ts";
import { type EndpointView, viewEndpoint } from "./views.ts";

export { DISABLED_REASONS } from "../../db/webhooks/endpoints.ts";

/** How long deliveries are also signed with the previous secret after a rotation. */
const ROTATION_MS = 24 * 60 * 60 * 1_000;

export interface EndpointInput {
  url: string;
  /** Null: every event. */
  event_names: EventName[] | null;
  description: string | null;
  enabled: boolean;
}

/** The secret is shown only to the request that creates it, and to its repetitions. */
export type EndpointWithSecret = EndpointView & { secret: string };

/**
 * What prevents that a request that is sent twice is executed twice: the key of an API request, or
 * a value of a form.
 */
interface Repeatable {
  requestKey?: RequestKey | null;
  /** From `newFormId`: a form that is sent twice creates one endpoint. */
  formId?: string | null;
  /** The `updated_at` that the form showed. */
  shownAt?: Date | null;
}

export async function createWebhookEndpoint(
  service: Service,
  caller: Caller,
  { url, event_names, description, enabled }: EndpointInput,
  { requestKey = null, formId = null }: Repeatable = {},
): Promise<RequestResult<EndpointWithSecret>> {
  requireStaff(caller);
  const now = new Date(service.clock());
  const id = formId === null ? newId(now) : requireRecentId(formId, now);
  const endpoint: GatewayWebhookEndpoint = {
    id,
    url: await requireValidUrl(service, url),
    event_names,
    description,
    disabled_reason: enabled ? null : "requested",
    failing_since: null,
    secret: sealSecret(service.secrets, newSecret(), id),
    previous_secret: null,
    previous_secret_until: null,
    event_count: 0,
    created_at: now,
    updated_at: now,
    deleted_at: null,
  };
  const changed = await changeOnce(service, caller, requestKey, async (sql) => {
    if (await insertEndpoint(sql, endpoint)) return withSealedReply(endpoint);
    throw new ServiceError("invalid_state", {
      detail: "This form was already sent, and its endpoint exists.",
    });
  }, "insert endpoint");
  return revealSecret(service, changed);
}

/** The stored reply has the secret as the endpoint's row has it: encrypted. */
function withSealedReply(endpoint: GatewayWebhookEndpoint): Change<EndpointWithSecret> {
  const sealed = { ...viewEndpoint(endpoint), secret: endpoint.secret };
  return { result: sealed, reply: { body: sealed } };
}

function revealSecret(
  { secrets }: Service,
  changed: ChangedOnce<EndpointWithSecret>,
): RequestResult<EndpointWithSecret> {
  const isReplayed = "replayed" in changed;
  const sealed = isReplayed ? changed.replayed as EndpointWithSecret : changed.result;
  const secret = openSecret(secrets, sealed);
  if (secret !== null) return { body: { ...sealed, secret }, isReplayed };
  throw new ServiceError("invalid_state", {
    detail:
      "The secret cannot be decrypted, because the server key was changed since. Rotate the " +
      "secret with a new Idempotency-Key.",
  });
}

/** The id of an endpoint that a form will create. */
export function newFormId({ clock }: Pick<Service, "clock">): string {
  return newId(new Date(clock()));
}

/**
 * How long a form can be sent after it was shown. The id contains the time when the form was shown,
 * and lists are sorted by id, so an endpoint from an older form would be listed too far down.
 */
const FORM_MS = 24 * 60 * 60 * 1_000;

/** The clocks of two instances may differ this much. */
const CLOCK_SLACK_MS = 60_000;

function requireRecentId(id: string, now: Date): string {
  const first = firstIdAt(new Date(now.getTime() - FORM_MS));
  const last = firstIdAt(new Date(now.getTime() + CLOCK_SLACK_MS));
  if (id >= first && id <= last) return id;
  throw invalidField("id", "is too old; load the form again");
}

export async function listWebhookEndpoints(
  { database }: Service,
  caller: Caller,
  { limit, before, isFailing = false }: {
    limit: number;
    before: string | null;
    /** Only endpoints that fail, or that the service has disabled because they failed. */
    isFailing?: boolean;
  },
): Promise<{ endpoints: EndpointView[]; next: string | null }> {
  requireReadAll(caller);
  const list = isFailing ? listFailingEndpoints : listEndpoints;
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { before, limit }), "list endpoints"),
  );
  return { endpoints: rows.map(viewEndpoint), next };
}

export async function readWebhookEndpoint(
  service: Service,
  caller: Caller,
  id: string,
): Promise<EndpointView> {
  return viewEndpoint(await findForReader(service, caller, id));
}

/**
 * Enabling an endpoint again also sends its waiting deliveries at once. `shownAt`: the `updated_at`
 * that the caller has seen. Throws `invalid_state` if the endpoint was changed since.
 */
export async function updateWebhookEndpoint(
  service: Service,
  caller: Caller,
  id: string,
  { url, enabled, ...input }: Partial<EndpointInput>,
  shownAt: Date | null = null,
): Promise<EndpointView> {
  const known = await findForStaff(service, caller, id);
  const now = new Date(service.clock());
  const isReenabled = enabled === true && known.disabled_reason !== null;
  const changes: EndpointChanges = {
    ...input,
    ...url === undefined ? {} : { url: await requireValidUrl(service, url) },
    // An endpoint that was disabled before keeps its reason.
    ...enabled === false && known.disabled_reason === null ? { disabled_reason: "requested" } : {},
    ...isReenabled ? { disabled_reason: null } : {},
    ...isReenabled || url !== undefined ? { failing_since: null } : {},
    updated_at: now,
  };
  const jobs = isReenabled ? [resumeJob(id, now)] : [];
  const { changed, queued } = await service.database.transaction(async (sql) => ({
    changed: requireUnchanged(await changeEndpoint(sql, id, changes, shownAt), shownAt),
    queued: await insertJobs(sql, jobs),
  }), "change endpoint");
  for (const job of queued) service.jobQueue.enqueue(job);
  service.waker.signalEndpointChange(id);
  return viewEndpoint(changed);
}

/** Marks the endpoint as deleted; its delivery job then deletes the deliveries and the endpoint. */
export async function deleteWebhookEndpoint(
  service: Service,
  caller: Caller,
  id: string,
): Promise<void> {
  await findForStaff(service, caller, id);
  const deletion = { deleted_at: new Date(service.clock()) };
  await service.database.query((sql) => changeEndpoint(sql, id, deletion), "delete endpoint");
  service.waker.signalEndpointChange(id);
  service.waker.wakeEndpoints([id]);
}

/** For a day deliveries are signed with both secrets, so that receivers have time to switch. */
export async function rotateWebhookSecret(
  service: Service,
  caller: Caller,
  id: string,
  { requestKey = null, shownAt = null }: Repeatable = {},
): Promise<RequestResult<EndpointWithSecret>> {
  await findForStaff(service, caller, id);
  const now = new Date(service.clock());
  const change = {
    secret: sealSecret(service.secrets, newSecret(), id),
    previous_secret_until: new Date(now.getTime() + ROTATION_MS),
    updated_at: now,
  };
  const changed = await changeOnce(service, caller, requestKey, async (sql) => {
    const rotated = await rotateSecret(sql, id, change, shownAt);
    return withSealedReply(requireUnchanged(rotated, shownAt));
  }, "rotate secret");
  const result = revealSecret(service, changed);
  if (!result.isReplayed) service.waker.signalEndpointChange(id);
  return result;
}

export type TestResult = PostResult & { id: string; succeeded: boolean };

/** Sends a test event and returns the result. A disabled endpoint gets it, too. */
export async function testWebhookEndpoint(
  service: Pick<Service, "database" | "clock" | "secrets" | "poster">,
  caller: Caller,
  id: string,
): Promise<TestResult> {
  const endpoint = await findForStaff(service, caller, id);
  const now = new Date(service.clock());
  const event = {
    id: newId(now),
    name: TEST_EVENT_NAME,
    // Not stored, so it is not counted among the events of the endpoint.
    sequence: 0,
    created_at: now.toISOString(),
    data: { ...viewEndpoint(endpoint), notification_id: null },
  };
  const result = await send(service, endpoint, event);
  return { id: event.id, succeeded: isAccepted(result), ...result };
}

/** Finds the endpoint for a change. Throws `forbidden` if the caller is not staff. */
export async function findForStaff(
  service: Pick<Service, "database">,
  caller: Caller,
  id: string,
): Promise<GatewayWebhookEndpoint> {
  requireStaff(caller);
  return await findForReader(service, caller, id);
}

/** Finds the endpoint for staff and viewers. Throws `not_found` if it was deleted. */
export async function findForReader(
  { database }: Pick<Service, "database">,
  caller: Caller,
  id: string,
): Promise<GatewayWebhookEndpoint> {
  requireReadAll(caller);
  const endpoint = await database.query((sql) => findEndpoint(sql, id), "find endpoint");
  return requireEndpoint(endpoint?.deleted_at ? null : endpoint);
}

function requireEndpoint(endpoint: GatewayWebhookEndpoint | null): GatewayWebhookEndpoint {
  if (!endpoint) throw new ServiceError("not_found");
  return endpoint;
}

function requireUnchanged(
  changed: GatewayWebhookEndpoint | null,
  shownAt: Date | null,
): GatewayWebhookEndpoint {
  if (changed || shownAt === null) return requireEndpoint(changed);
  throw new ServiceError("invalid_state", {
    detail: "The endpoint was changed after this page was shown. Load the page again.",
  });
}

async function requireValidUrl({ webhookRules }: Service, url: string): Promise<string> {
  const checked = await checkEndpointUrl(url, webhookRules);
  if ("url" in checked) return checked.url;
  throw invalidField("url", checked.problem);
}
