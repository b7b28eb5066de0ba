/** What the verbs of invoices work with. */

import type { RecordDeps } from "../records/deps.ts";

export interface InvoiceDeps extends RecordDeps {
  /** By which channels invoices can be paid, as the gateway calls them. */
  invoicePayments: readonly string[];
}
