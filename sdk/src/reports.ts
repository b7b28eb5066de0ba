/** Reports: lists as CSV files, statistics, and the comparison with the gateway's reports. */

import type { Client } from "#api/client";
import {
  createReconciliation,
  exportInvoices,
  exportPayments,
  exportRefunds,
  getCheckoutStats,
  getPaymentStats,
  getReconciliation,
  listReconciliationDifferences,
  listReconciliations,
  reopenReconciliationDifference,
  resolveReconciliationDifference,
  takeOverReconciliation,
  takeOverReconciliationDifference,
} from "#api/sdk";
import type {
  CheckoutStats,
  CreateReconciliationData,
  ExportInvoicesData,
  ExportPaymentsData,
  ExportRefundsData,
  GetCheckoutStatsData,
  GetPaymentStatsData,
  Job,
  ListReconciliationDifferencesData,
  ListReconciliationsData,
  PaymentStats,
  Reconciliation,
  ReconciliationDifference,
  ReconciliationSummary,
} from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
import { Pager } from "./pager.ts";
import { withResponseTimeout } from "./retry.ts";

/** The bytes of a CSV file. If the file cannot be finished, reading throws. */
export type CsvFile = ReadableStream<Uint8Array>;

export interface ExportOptions extends Omit<CallOptions, "maxRetries"> {
  /** Timeout until the file starts. Default: that of the client. */
  timeoutMs?: number;
}

export class Reports {
  readonly #client: Client;
  readonly #send: typeof fetch;
  readonly #timeoutMs: number;

  constructor(client: Client, send: typeof fetch, timeoutMs: number) {
    this.#client = client;
    this.#send = send;
    this.#timeoutMs = timeoutMs;
  }

  /** Payments as a CSV file, with the order and the filters of `payments.list`, except `q`. */
  async exportPayments(
    query: ExportPaymentsData["query"] = {},
    options: ExportOptions = {},
  ): Promise<CsvFile> {
    const { data } = await exportPayments({
      client: this.#client,
      query,
      ...this.#asFile(options),
      ...toRequestOptions(options),
    });
    return data as unknown as CsvFile;
  }

  /** Refunds as a CSV file, with the order and the filters of `refunds.list`. */
  async exportRefunds(
    query: ExportRefundsData["query"] = {},
    options: ExportOptions = {},
  ): Promise<CsvFile> {
    const { data } = await exportRefunds({
      client: this.#client,
      query,
      ...this.#asFile(options),
      ...toRequestOptions(options),
    });
    return data as unknown as CsvFile;
  }

  /** Invoices as a CSV file, with the order and the filters of `invoices.list`. */
  async exportInvoices(
    query: ExportInvoicesData["query"] = {},
    options: ExportOptions = {},
  ): Promise<CsvFile> {
    const { data } = await exportInvoices({
      client: this.#client,
      query,
      ...this.#asFile(options),
      ...toRequestOptions(options),
    });
    return data as unknown as CsvFile;
  }

  /** Counts and amounts of payments by time. */
  paymentStats(query: GetPaymentStatsData["query"], options?: CallOptions): Promise<PaymentStats> {
    return dataOf(
      getPaymentStats({ client: this.#client, query, ...toRequestOptions(options) }),
    );
  }

  /** Counts and amounts of checkouts by the time of their creation. */
  checkoutStats(
    query: GetCheckoutStatsData["query"],
    options?: CallOptions,
  ): Promise<CheckoutStats> {
    return dataOf(
      getCheckoutStats({ client: this.#client, query, ...toRequestOptions(options) }),
    );
  }

  /**
   * Uploads a settlement or transaction report (CSV). A job (`job_id`) compares it with the
   * payments. Staff only.
   */
  reconcile(
    file: string,
    query: CreateReconciliationData["query"] = {},
    options?: CallOptions,
  ): Promise<Reconciliation> {
    return dataOf(
      createReconciliation({
        client: this.#client,
        body: file,
        query,
        ...toRequestOptions(options),
      }),
    );
  }

  /** The reports that were uploaded, newest first. Staff and viewers only. */
  reconciliations(
    query: ListReconciliationsData["query"] = {},
    options?: CallOptions,
  ): Pager<ReconciliationSummary> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listReconciliations({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** A reconciliation and its results. Staff and viewers only. */
  reconciliation(id: string, options?: CallOptions): Promise<Reconciliation> {
    return dataOf(
      getReconciliation({ client: this.#client, path: { pk: id }, ...toRequestOptions(options) }),
    );
  }

  /** The differences of a reconciliation. Staff and viewers only. */
  differences(
    id: string,
    query: ListReconciliationDifferencesData["query"] = {},
    options?: CallOptions,
  ): Pager<ReconciliationDifference> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listReconciliationDifferences({
        client: this.#client,
        path: { pk: id },
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** Marks a difference as resolved; does nothing if it is. Staff only. */
  resolveDifference(
    id: string,
    differenceId: number,
    options?: KeyedOptions,
  ): Promise<ReconciliationDifference> {
    const path = { pk: id, difference_id: differenceId };
    return dataOf(
      resolveReconciliationDifference({
        client: this.#client,
        path,
        ...withIdempotencyKey(options),
      }),
    );
  }

  /** Marks a resolved difference as open again; does nothing if it is open. Staff only. */
  reopenDifference(
    id: string,
    differenceId: number,
    options?: KeyedOptions,
  ): Promise<ReconciliationDifference> {
    const path = { pk: id, difference_id: differenceId };
    return dataOf(
      reopenReconciliationDifference({
        client: this.#client,
        path,
        ...withIdempotencyKey(options),
      }),
    );
  }

  /**
   * Asks the gateway for the transaction of a difference that is `missing_here`, stores it as a
   * payment (`payment_id`), and resolves the difference. Does nothing if it was taken over. Staff
   * only.
   */
  takeOverDifference(
    id: string,
    differenceId: number,
    options?: KeyedOptions,
  ): Promise<ReconciliationDifference> {
    const path = { pk: id, difference_id: differenceId };
    return dataOf(
      takeOverReconciliationDifference({
        client: this.#client,
        path,
        ...withIdempotencyKey(options),
      }),
    );
  }

  /** Queues a job that takes over all open differences that are `missing_here`. Staff only. */
  takeOverAll(id: string, options?: KeyedOptions): Promise<Job> {
    return dataOf(
      takeOverReconciliation({
        client: this.#client,
        path: { pk: id },
        ...withIdempotencyKey(options),
      }),
    );
  }

  /** The default fetch of the client would end the file at its timeout. */
  #asFile({ timeoutMs = this.#timeoutMs }: ExportOptions) {
    return { parseAs: "stream" as const, fetch: withResponseTimeout(timeoutMs, this.#send) };
  }
}
