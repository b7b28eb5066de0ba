/** How invoices are shown: their status and their items. */

import type { FC } from "hono/jsx";
import type { InvoiceStatus } from "../../core/invoices/states.ts";
import { Card, ItemTable, Label, type Tone } from "../shared/elements.tsx";
import { rupiah } from "../shared/format.ts";
import type { View } from "../shared/session.ts";

interface ItemsProps {
  view: View;
  items: { description: string; price: string; quantity: number; subtotal: string }[];
  total: string;
}

/** The line items and their total. */
export const InvoiceItems: FC<ItemsProps> = ({ view, items, total }) => {
  const { words: { invoicesPage: words, ...shared } } = view;
  return (
    <Card id="items" title={shared.items}>
      <ItemTable
        view={view}
        items={items.map((item) => ({ ...item, name: item.description }))}
      />
      <p class="total">
        {words.total} <span class="amount">{rupiah(total)}</span>
      </p>
    </Card>
  );
};

const TONES: Record<InvoiceStatus, Tone> = {
  pending: "wait",
  draft: "plain",
  sent: "wait",
  partial: "wait",
  overdue: "bad",
  paid: "good",
  void: "plain",
  failed: "bad",
};

/** The state as a coloured label. */
export const InvoiceStatusLabel: FC<{ view: View; status: InvoiceStatus }> = (
  { view, status },
) => <Label tone={TONES[status]}>{view.words.invoicesPage.statuses[status]}</Label>;
