/** `/payments/…`: read-only but for its actions. */

import type { PaymentDeps } from "../../core/payments/deps.ts";
import { createRouter, type Router } from "../shared/router.ts";
import { addCancel } from "./cancel.ts";
import { addCapture } from "./capture.ts";
import { addCheckStatus } from "./check_status.ts";
import { addExpire } from "./expire.ts";
import { addList } from "./list.ts";
import { addRead } from "./read.ts";
import { addRefund } from "./refund.ts";

export function createPaymentRoutes(deps: PaymentDeps): Router {
  const router = createRouter();
  addList(router, deps);
  addRead(router, deps);
  addCheckStatus(router, deps);
  addCancel(router, deps);
  addExpire(router, deps);
  addRefund(router, deps);
  addCapture(router, deps);
  return router;
}
