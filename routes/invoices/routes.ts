/** `/invoices/…` */

import type { InvoiceDeps } from "../../core/invoices/deps.ts";
import { createRouter, type Router } from "../shared/router.ts";
import { addCreate } from "./create.ts";
import { addList } from "./list.ts";
import { addRead } from "./read.ts";
import { addVoid } from "./void.ts";

export function createInvoiceRoutes(deps: InvoiceDeps): Router {
  const router = createRouter();
  addList(router, deps);
  addCreate(router, deps);
  addRead(router, deps);
  addVoid(router, deps);
  return router;
}
