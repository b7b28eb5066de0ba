/** An invoice is paid when the transaction made for it is, whatever became of it meanwhile. */

import type { Transaction } from "../transactions/transaction.ts";
import type { World } from "../world/world.ts";

export function markInvoicePaid(world: World, { invoiceId }: Transaction): void {
  const invoice = invoiceId === null ? undefined : world.invoices.get(invoiceId);
  if (!invoice || invoice.status === "paid") return;
  world.invoices.put({ ...invoice, status: "paid", paidAt: world.clock.now() });
}
