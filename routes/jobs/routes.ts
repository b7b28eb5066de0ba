/** `/jobs/…`: what is done outside of requests. */

import type { RetryDeps } from "../../core/jobs/retry.ts";
import { createRouter, type Router } from "../shared/router.ts";
import { addList } from "./list.ts";
import { addRead } from "./read.ts";
import { addRetry } from "./retry.ts";

export function createJobRoutes(deps: RetryDeps): Router {
  const router = createRouter();
  addList(router, deps);
  addRead(router, deps);
  addRetry(router, deps);
  return router;
}
