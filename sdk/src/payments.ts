/** Payments: what became of a charge, and what can be done about it. */

import type { Client } from "#api/client";
import {
  cancelPayment,
  capturePayment,
  checkPaymentStatus,
  expirePayment,
  getPayment,
  listPayments,
  refundPayment,
} from "#api/sdk";
import type {
  CaptureRequest,
  Job,
  ListPaymentsData,
  Payment,
  PaymentStatusCheck,
  PaymentSummary,
  RefundRequest,
  RefundResult,
} from "#api/types";
import { answer, type CallOptions, keyed, type KeyedOptions, plain, respondAsync } from "./call.ts";
import { Pager } from "./pager.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

export class Payments {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Your payments, newest first. */
  list(query: ListPaymentsData["query"] = {}, options?: CallOptions): Pager<PaymentSummary> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listPayments({ client: this.#client, query: { ...filter, cursor }, ...plain(options) })
    );
  }

  /** One payment, as the service knows it. */
  get(pk: string, options?: CallOptions): Promise<Payment> {
    return answer(getPayment({ client: this.#client, path: { pk }, ...plain(options) }));
  }

  /** The same after asking the gateway. */
  checkStatus(pk: string, options?: CallOptions): Promise<PaymentStatusCheck> {
    return answer(checkPaymentStatus({ client: this.#client, path: { pk }, ...plain(options) }));
  }

  /** Reads the payment until it is not pending any more, or `until` says so. */
  wait(
    pk: string,
    options: WaitOptions & { until?: (payment: Payment) => boolean } = {},
  ): Promise<Payment> {
    const { until = (payment: Payment) => !payment.is_pending } = options;
    return waitUntil((signal) => this.get(pk, { signal }), until, options);
  }

  /** Takes back what is not final. */
  cancel(pk: string, options?: KeyedOptions): Promise<Payment> {
    return answer(cancelPayment({ client: this.#client, path: { pk }, ...keyed(options) }));
  }

  /** Ends the wait for a customer. */
  expire(pk: string, options?: KeyedOptions): Promise<Payment> {
    return answer(expirePayment({ client: this.#client, path: { pk }, ...keyed(options) }));
  }

  /** Takes what an authorized card holds: all, or `amount`. */
  capture(pk: string, capture?: CaptureRequest, options?: KeyedOptions): Promise<Payment> {
    return answer(
      capturePayment({ client: this.#client, path: { pk }, body: capture, ...keyed(options) }),
    );
  }

  /** Pays back all that is left, or `amount`. */
  refund(pk: string, refund?: RefundRequest, options?: KeyedOptions): Promise<RefundResult> {
    const input = { client: this.#client, path: { pk }, body: refund };
    return answer(refundPayment({ ...input, ...keyed(options) })) as Promise<RefundResult>;
  }

  /** Has a job do it, without waiting for the gateway; see `jobs.wait`. */
  refundAsync(pk: string, refund?: RefundRequest, options?: KeyedOptions): Promise<Job> {
    const input = { client: this.#client, path: { pk }, body: refund };
    return answer(refundPayment({ ...input, ...respondAsync(options) })) as Promise<Job>;
  }
}
