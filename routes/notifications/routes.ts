/** `/notifications/…`: what the gateway told, for staff. */

import type { NotificationDeps } from "../../core/notifications/deps.ts";
import { createRouter, type Router } from "../shared/router.ts";
import { addList } from "./list.ts";
import { addReplay } from "./replay.ts";

export function createNotificationRoutes(deps: NotificationDeps): Router {
  const router = createRouter();
  addList(router, deps);
  addReplay(router, deps);
  return router;
}
