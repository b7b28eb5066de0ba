/** What an invoice comes to: items less discounts, plus tax and shipping (G§8). */

export interface Priced {
  item_details: { price: number; quantity: number; discount_percentage?: number | null }[];
  amount?: { discount?: number | null; shipping?: number | null; vat?: number | null } | null;
  tax_mode?: "exclusive" | "inclusive" | null;
  taxes?: Tax[] | null;
}

interface Tax {
  name: string;
  type: "percentage" | "fixed";
  value: number;
}

export function total(invoice: Priced): number {
  const { amount, tax_mode } = invoice;
  const tax = tax_mode === "exclusive"
    ? taxes(invoice).reduce((sum, { calculated_amount }) => sum + calculated_amount, 0)
    : 0;
  return itemsTotal(invoice) + tax + (amount?.vat ?? 0) + (amount?.shipping ?? 0) -
    (amount?.discount ?? 0);
}

export function taxes(invoice: Priced): (Tax & { calculated_amount: number })[] {
  const base = itemsTotal(invoice);
  return (invoice.taxes ?? []).map((tax) => ({
    ...tax,
    calculated_amount: tax.type === "fixed" ? Math.round(tax.value) : percent(base, tax.value),
  }));
}

/** One line of it, less its discount. */
export function itemTotal(
  { price, quantity, discount_percentage }: Priced["item_details"][number],
) {
  const full = price * quantity;
  return full - percent(full, discount_percentage ?? 0);
}

function itemsTotal({ item_details }: Priced): number {
  return item_details.reduce((sum, item) => sum + itemTotal(item), 0);
}

function percent(amount: number, rate: number): number {
  return Math.round(amount * rate / 100);
}
