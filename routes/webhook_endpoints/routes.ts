/** `/webhook-endpoints/…`: the URLs that events are sent to, and their deliveries. */

import type { KeyDeps } from "../../core/idempotency/keys.ts";
import type { WebhookDeps } from "../../core/webhooks/endpoints.ts";
import { createRouter, type Router } from "../../http/router.ts";
import { addActions } from "./actions.ts";
import { addDeliveries } from "./deliveries.ts";
import { addEndpoints } from "./endpoints.ts";

export function createWebhookRoutes(deps: WebhookDeps & KeyDeps): Router {
  const router = createRouter();
  addEndpoints(router, deps);
  addActions(router, deps);
  addDeliveries(router, deps);
  return router;
}
