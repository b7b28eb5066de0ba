/** Invoices: bills with a hosted payment page. */

import type { Client } from "#api/client";
import { checkInvoiceStatus, createInvoice, getInvoice, listInvoices, voidInvoice } from "#api/sdk";
import type {
  Invoice,
  InvoiceRequest,
  InvoiceStatusCheck,
  ListInvoicesData,
  VoidRequest,
} from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
import { type ListQuery, Pager } from "./pager.ts";

export class Invoices {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Creates an invoice. Send its `payment_link_url` to the customer. */
  create(invoice: InvoiceRequest, options?: KeyedOptions): Promise<Invoice> {
    return dataOf(
      createInvoice({ client: this.#client, body: invoice, ...withIdempotencyKey(options) }),
    );
  }

  /**
   * Your invoices, newest first; for staff and viewers, those of all users. With a filter by due
   * date, and none by customer, number or order, they are sorted by due date, latest first.
   */
  list(query: ListQuery<ListInvoicesData["query"]> = {}, options?: CallOptions): Pager<Invoice> {
    const { cursor: first, ...filter } = query as NonNullable<ListInvoicesData["query"]>;
    return new Pager((cursor = first) =>
      listInvoices({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** One invoice, as stored by the service. */
  get(pk: string, options?: CallOptions): Promise<Invoice> {
    return dataOf(getInvoice({ client: this.#client, path: { pk }, ...toRequestOptions(options) }));
  }

  /** One invoice, after a check with the gateway. */
  checkStatus(pk: string, options?: CallOptions): Promise<InvoiceStatusCheck> {
    return dataOf(
      checkInvoiceStatus({ client: this.#client, path: { pk }, ...toRequestOptions(options) }),
    );
  }

  /** Voids an invoice with the status `sent` or `overdue`. */
  void(pk: string, reason?: VoidRequest, options?: KeyedOptions): Promise<Invoice> {
    return dataOf(
      voidInvoice({
        client: this.#client,
        path: { pk },
        body: reason,
        ...withIdempotencyKey(options),
      }),
    );
  }
}
