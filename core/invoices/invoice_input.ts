/** What an invoice is asked for with; checked by whoever takes it in. */

export interface InvoiceInput {
  customer_name: string;
  customer_email?: string;
  customer_phone?: string;
  customer_id?: string;
  /** A day of Western Indonesia, YYYY-MM-DD: the invoice is to be paid until its end. */
  due_date: string;
  items: InvoiceItemInput[];
  notes?: string;
  /** Made up where left out. */
  order_id?: string;
  /** Made up where left out. */
  invoice_number?: string;
  metadata?: Record<string, unknown>;
}

export interface InvoiceItemInput {
  item_id?: string;
  description: string;
  price: number;
  quantity: number;
}

/** Whole rupiah, exact whatever the numbers: the products of large ones outgrow a number. */
export function totalOf(items: Pick<InvoiceItemInput, "price" | "quantity">[]): bigint {
  return items.reduce((sum, { price, quantity }) => sum + BigInt(price) * BigInt(quantity), 0n);
}
