/** Invoices: bills with a page to pay them on. */

import type { Client } from "#api/client";
import { createInvoice, getInvoice, listInvoices, voidInvoice } from "#api/sdk";
import type { Invoice, InvoiceRequest, ListInvoicesData, VoidRequest } from "#api/types";
import { answer, type CallOptions, keyed, type KeyedOptions, plain } from "./call.ts";
import { Pager } from "./pager.ts";

export class Invoices {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Makes a bill; send the customer its `payment_link_url`. */
  create(invoice: InvoiceRequest, options?: KeyedOptions): Promise<Invoice> {
    return answer(createInvoice({ client: this.#client, body: invoice, ...keyed(options) }));
  }

  /** Your invoices, newest first. */
  list(query: ListInvoicesData["query"] = {}, options?: CallOptions): Pager<Invoice> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listInvoices({ client: this.#client, query: { ...filter, cursor }, ...plain(options) })
    );
  }

  /** One invoice, as the service knows it. */
  get(pk: string, options?: CallOptions): Promise<Invoice> {
    return answer(getInvoice({ client: this.#client, path: { pk }, ...plain(options) }));
  }

  /** Takes back one that was not paid. */
  void(pk: string, reason?: VoidRequest, options?: KeyedOptions): Promise<Invoice> {
    return answer(
      voidInvoice({ client: this.#client, path: { pk }, body: reason, ...keyed(options) }),
    );
  }
}
