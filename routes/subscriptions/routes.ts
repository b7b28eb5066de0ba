/** `/subscriptions/…` */

import type { RecordDeps } from "../../core/records/deps.ts";
import { createRouter, type Router } from "../shared/router.ts";
import { addAct } from "./act.ts";
import { addCreate } from "./create.ts";
import { addList } from "./list.ts";
import { addRead } from "./read.ts";

export function createSubscriptionRoutes(deps: RecordDeps): Router {
  const router = createRouter();
  addList(router, deps);
  addCreate(router, deps);
  addRead(router, deps);
  addAct(router, deps);
  return router;
}
