/** `/webhook-endpoints/…`: the URLs that events are sent to, and their deliveries. */

import { createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import { addActions } from "./actions.ts";
import { addDeliveries } from "./deliveries.ts";
import { addEndpoints } from "./endpoints.ts";

export function createWebhookRoutes(service: Service): Router {
  const router = createRouter();
  addEndpoints(router, service);
  addActions(router, service);
  addDeliveries(router, service);
  return router;
}
