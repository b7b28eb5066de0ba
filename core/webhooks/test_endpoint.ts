/** `testWebhookEndpoint`: whether an endpoint takes what is sent to it, told at once. */

import type { Caller } from "../auth/caller.ts";
import { newId } from "../ids.ts";
import type { WebhookDeps } from "./deps.ts";
import { TEST_EVENT_NAME } from "./event_names.ts";
import { findForStaff } from "./manage_endpoints.ts";
import type { Posted } from "./post.ts";
import { isTaken, send } from "./send.ts";
import { viewEndpoint } from "./views.ts";

export type TestResult = Posted & { id: string; succeeded: boolean };

/** An event of its own kind, signed as all are; also to one that is disabled, once. */
export async function testWebhookEndpoint(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
): Promise<TestResult> {
  const endpoint = await findForStaff(deps, caller, id);
  const now = new Date(deps.clock());
  const event = {
    id: newId(now),
    name: TEST_EVENT_NAME,
    created_at: now.toISOString(),
    data: { ...viewEndpoint(endpoint), notification_id: null },
  };
  const posted = await send(deps, endpoint, event);
  return { id: event.id, succeeded: isTaken(posted), ...posted };
}
