/** Payments: read, cancel, expire, capture and refund. */

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
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
  withRespondAsync,
} from "./call.ts";
import { type ListQuery, Pager } from "./pager.ts";
import { type WaitOptions, waitUntil } from "./wait.ts";

export class Payments {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Your payments, newest first; for staff and viewers, those of all users. Filters by settlement
   * time can change the order.
   */
  list(
    query: ListQuery<ListPaymentsData["query"]> = {},
    options?: CallOptions,
  ): Pager<PaymentSummary> {
    const { cursor: first, ...filter } = query as NonNullable<ListPaymentsData["query"]>;
    return new Pager((cursor = first) =>
      listPayments({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** One payment, as stored by the service. */
  get(pk: string, options?: CallOptions): Promise<Payment> {
    return dataOf(getPayment({ client: this.#client, path: { pk }, ...toRequestOptions(options) }));
  }

  /** One payment, after a check with the gateway. */
  checkStatus(pk: string, options?: CallOptions): Promise<PaymentStatusCheck> {
    return dataOf(
      checkPaymentStatus({ client: this.#client, path: { pk }, ...toRequestOptions(options) }),
    );
  }

  /** Polls the payment until `until` returns true. Default: until it is no longer pending. */
  wait(
    pk: string,
    options: WaitOptions & { until?: (payment: Payment) => boolean } = {},
  ): Promise<Payment> {
    const { until = (payment: Payment) => !payment.is_pending } = options;
    return waitUntil((signal) => this.get(pk, { signal }), until, options);
  }

  /** Cancels a payment that is not settled yet. */
  cancel(pk: string, options?: KeyedOptions): Promise<Payment> {
    return dataOf(
      cancelPayment({ client: this.#client, path: { pk }, ...withIdempotencyKey(options) }),
    );
  }

  /** Expires a pending payment. */
  expire(pk: string, options?: KeyedOptions): Promise<Payment> {
    return dataOf(
      expirePayment({ client: this.#client, path: { pk }, ...withIdempotencyKey(options) }),
    );
  }

  /** Captures an authorized card payment: the full amount, or `amount`. */
  capture(pk: string, capture?: CaptureRequest, options?: KeyedOptions): Promise<Payment> {
    return dataOf(
      capturePayment({
        client: this.#client,
        path: { pk },
        body: capture,
        ...withIdempotencyKey(options),
      }),
    );
  }

  /** Refunds the full remaining amount, or `amount`. */
  refund(
    pk: string,
    refund?: RefundRequest,
    options?: KeyedOptions,
  ): Promise<RefundResult> {
    const input = { client: this.#client, path: { pk }, body: refund };
    return dataOf(refundPayment({ ...input, ...withIdempotencyKey(options) })) as Promise<
      RefundResult
    >;
  }

  /** Refunds in a background job, without waiting for the gateway; see `jobs.wait`. */
  refundAsync(pk: string, refund?: RefundRequest, options?: KeyedOptions): Promise<Job> {
    const input = { client: this.#client, path: { pk }, body: refund };
    return dataOf(refundPayment({ ...input, ...withRespondAsync(options) })) as Promise<Job>;
  }
}
