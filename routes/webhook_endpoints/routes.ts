/** `/webhook-endpoints/…`: where events are sent to. */

import type { WebhookDeps } from "../../core/webhooks/deps.ts";
import { createRouter, type Router } from "../shared/router.ts";
import { addActions } from "./act.ts";
import { addCreate } from "./create.ts";
import { addDeliveries } from "./deliveries.ts";
import { addEndpoint } from "./endpoint.ts";
import { addList } from "./list.ts";

export function createWebhookRoutes(deps: WebhookDeps): Router {
  const router = createRouter();
  addList(router, deps);
  addCreate(router, deps);
  addEndpoint(router, deps);
  addActions(router, deps);
  addDeliveries(router, deps);
  return router;
}
