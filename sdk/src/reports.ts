/** Reports: lists as CSV files. */

import type { Client } from "#api/client";
import { exportInvoices, exportPayments, exportRefunds } from "#api/sdk";
import type { ExportInvoicesData, ExportPaymentsData, ExportRefundsData } from "#api/types";
import { type CallOptions, toRequestOptions } from "./call.ts";
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

  /** Payments as a CSV file, newest first, with the filters of `payments.list`. */
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

  /** Refunds as a CSV file, newest first, with the filters of `refunds.list`. */
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

  /** Invoices as a CSV file, newest first, with the filters of `invoices.list`. */
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

  /** The default fetch of the client would end the file at its timeout. */
  #asFile({ timeoutMs = this.#timeoutMs }: ExportOptions) {
    return { parseAs: "stream" as const, fetch: withResponseTimeout(timeoutMs, this.#send) };
  }
}
