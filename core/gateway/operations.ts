/** The operations of the gateway's API, by resource: path, payload and response type of each. */

import type { Permit } from "./circuit_breaker.ts";
import type { ResponseSchema } from "./json.ts";
import { checkAmount, get, patch, path, post, type RequestSpec } from "./request.ts";
import {
  Bin,
  CancelledSnapPage,
  CardToken,
  type GatewayResponse,
  Invoice,
  MerchantPreferences,
  Message,
  PayAccount,
  Points,
  RegisteredCard,
  SnapPage,
  Subscription,
  Transaction,
  TransactionList,
  Voided,
} from "./responses.ts";
import {
  channelOf,
  isSnapApi,
  SNAP_API_HEADERS,
  withoutWrongOrder,
  withRequestedId,
} from "./snap_api.ts";

export interface CallOptions {
  /** 1 to 46 characters, unique per operation; not sent if the operation does not support a key. */
  idempotencyKey?: string;
  /** For the whole operation; defaults to 10 seconds, 15 for a charge. */
  deadlineMs?: number;
  signal?: AbortSignal;
  /** The transaction is one of a channel in `snap_api.ts`. */
  isSnapApi?: boolean;
  /**
   * Only for a charge or a Snap page: where its notifications are sent, instead of the dashboard's
   * URL.
   */
  notificationUrl?: string | null;
  /** From `takeProbe`; null: the call asks the circuit breaker when it is sent. */
  permit?: Permit | null;
}

export interface PageOptions extends CallOptions {
  /** Starts at 0, the gateway's default. */
  page?: number;
  /** The gateway's default is 10. */
  perPage?: number;
}

export type CallGateway = <T>(
  schema: ResponseSchema<T>,
  spec: RequestSpec,
  options?: CallOptions,
) => Promise<GatewayResponse<T>>;

export interface ChargePayload {
  payment_type: string;
  transaction_details: { order_id: string; gross_amount: number; [name: string]: unknown };
  [name: string]: unknown;
}

/** Longer than the default: some banks are slow, and a charge that timed out may still succeed. */
export const CHARGE_DEADLINE_MS = 15_000;

export function paymentOperations(call: CallGateway) {
  return {
    async charge(payload: ChargePayload, options: CallOptions = {}) {
      checkAmount(payload.transaction_details.gross_amount);
      const deadlineMs = options.deadlineMs ?? CHARGE_DEADLINE_MS;
      const spec = withNotificationUrl(postWithKey("/v2/charge", payload), options);
      const response = await call(Transaction, spec, { ...options, deadlineMs });
      return isSnapApi(channelOf(response.body)) ? withoutWrongOrder(response) : response;
    },
    async getStatus(id: string, options?: CallOptions) {
      const spec = withSource(get(path`/v2/${id}/status`), options);
      const response = await call(Transaction, spec, options);
      return options?.isSnapApi ? withoutWrongOrder(response) : response;
    },
    async getStatusB2b(orderId: string, options: PageOptions = {}) {
      const query = { page: options.page, per_page: options.perPage };
      return await call(TransactionList, get(path`/v2/${orderId}/status/b2b`, query), options);
    },
    async cancel(id: string, options?: CallOptions) {
      return await act(id, postWithKey(path`/v2/${id}/cancel`), options);
    },
    async expire(id: string, options?: CallOptions) {
      return await act(id, postWithKey(path`/v2/${id}/expire`), options);
    },
    async capture(transactionId: string, grossAmount: number, options?: CallOptions) {
      const body = { transaction_id: transactionId, gross_amount: checkAmount(grossAmount) };
      return await act(transactionId, postWithKey("/v2/capture", body), options);
    },
    async refund(
      id: string,
      refundKey: string,
      amount: number,
      reason = "",
      options?: CallOptions,
    ) {
      const body = refundBody(refundKey, amount, reason);
      return await act(id, postWithKey(path`/v2/${id}/refund`, body), options);
    },
    async directRefund(
      id: string,
      refundKey: string,
      amount: number,
      reason = "",
      options?: CallOptions,
    ) {
      const body = refundBody(refundKey, amount, reason);
      return await act(id, postWithKey(path`/v2/${id}/refund/online/direct`, body), options);
    },
    async approve(id: string, options?: CallOptions) {
      return await act(id, postWithKey(path`/v2/${id}/approve`), options);
    },
    async deny(id: string, options?: CallOptions) {
      return await act(id, postWithKey(path`/v2/${id}/deny`), options);
    },
  };

  /** `id`: the order id or the transaction id; for a channel in `snap_api.ts`, the latter. */
  async function act(id: string, spec: RequestSpec, options?: CallOptions) {
    const response = await call(Transaction, withSource(spec, options), options);
    return options?.isSnapApi ? withRequestedId(response, id) : response;
  }
}

function withSource(spec: RequestSpec, options: CallOptions = {}): RequestSpec {
  return options.isSnapApi ? { ...spec, headers: SNAP_API_HEADERS } : spec;
}

function withNotificationUrl(spec: RequestSpec, { notificationUrl }: CallOptions): RequestSpec {
  return notificationUrl
    ? { ...spec, headers: { "X-Override-Notification": notificationUrl } }
    : spec;
}

function postWithKey(path: string, body?: object): RequestSpec {
  return { ...post(path, body), keyHeader: "Idempotency-Key" };
}

function refundBody(refundKey: string, amount: number, reason: string) {
  return {
    refund_key: refundKey,
    amount: checkAmount(amount),
    ...reason !== "" && { reason },
  };
}

export function cardOperations(call: CallGateway, configuredClientKey: string | null) {
  return {
    async getCardToken(
      cardNumber: string,
      cardExpMonth: string | number,
      cardExpYear: string | number,
      cardCvv: string,
      clientKey?: string,
      options?: CallOptions,
    ) {
      const spec = cardRequest("/v2/token", clientKey, {
        card_number: cardNumber,
        card_exp_month: cardExpMonth,
        card_exp_year: cardExpYear,
        card_cvv: cardCvv,
      });
      return await call(CardToken, spec, options);
    },
    async registerCard(
      cardNumber: string,
      cardExpMonth: string | number,
      cardExpYear: string | number,
      clientKey?: string,
      options?: CallOptions,
    ) {
      const spec = cardRequest("/v2/card/register", clientKey, {
        card_number: cardNumber,
        card_exp_month: cardExpMonth,
        card_exp_year: cardExpYear,
      });
      return await call(RegisteredCard, spec, options);
    },
    async pointInquiry(tokenId: string, options?: CallOptions) {
      const spec = get(path`/v2/point_inquiry/${tokenId}`);
      return await call(Points, { ...spec, secrets: [tokenId] }, options);
    },
    async getBin(binNumber: string, options?: CallOptions) {
      return await call(Bin, get(path`/v1/bins/${binNumber}`), options);
    },
  };

  /** These GETs create a token, and authenticate with the client key only. */
  function cardRequest(
    path: string,
    clientKey: string | undefined,
    card: RequestSpec["query"],
  ): RequestSpec {
    const client_key = clientKey ?? configuredClientKey;
    if (!client_key) throw new TypeError("Cards need a client key: set GATEWAY_CLIENT_KEY");
    return { ...get(path, { client_key, ...card }), isRead: false, usesServerKey: false };
  }
}

export function accountOperations(call: CallGateway) {
  return {
    async getMerchantPreferences(options?: CallOptions) {
      const spec = { ...get("/snap/v3/merchant-preferences"), isOnSnapHost: true };
      return await call(MerchantPreferences, spec, options);
    },
  };
}

export interface SnapPayload {
  transaction_details: { order_id: string; gross_amount: number };
  [name: string]: unknown;
}

/**
 * Snap, the gateway's own payment page. The gateway supports no idempotency key for it. Until the
 * customer confirms a card, a page that is created with the same order id replaces the first.
 */
export function snapOperations(call: CallGateway) {
  return {
    async createSnapPage(payload: SnapPayload, options: CallOptions = {}) {
      checkAmount(payload.transaction_details.gross_amount);
      const spec = { ...post("/snap/v1/transactions", payload), isOnSnapHost: true };
      return await call(SnapPage, withNotificationUrl(spec, options), options);
    },
    async cancelSnapPage(token: string, options?: CallOptions) {
      const spec = post(path`/snap/v1/transactions/${token}/cancel`);
      return await call(
        CancelledSnapPage,
        { ...spec, isOnSnapHost: true, secrets: [token] },
        options,
      );
    },
  };
}

/** Wallet accounts that customers link. The gateway supports no idempotency key for them. */
export function payAccountOperations(call: CallGateway) {
  return {
    async createPayAccount(payload: object, options?: CallOptions) {
      return await call(PayAccount, post("/v2/pay/account", payload), options);
    },
    async getPayAccount(accountId: string, options?: CallOptions) {
      return await call(PayAccount, get(path`/v2/pay/account/${accountId}`), options);
    },
    async unbindPayAccount(accountId: string, options?: CallOptions) {
      return await call(PayAccount, post(path`/v2/pay/account/${accountId}/unbind`), options);
    },
  };
}

/** The gateway supports an idempotency key only for the creation of a subscription. */
export function subscriptionOperations(call: CallGateway) {
  return {
    async createSubscription(payload: object, options?: CallOptions) {
      return await call(Subscription, postWithKey("/v1/subscriptions", payload), options);
    },
    async getSubscription(id: string, options?: CallOptions) {
      return await call(Subscription, get(path`/v1/subscriptions/${id}`), options);
    },
    async disableSubscription(id: string, options?: CallOptions) {
      return await call(Message, post(path`/v1/subscriptions/${id}/disable`), options);
    },
    async enableSubscription(id: string, options?: CallOptions) {
      return await call(Message, post(path`/v1/subscriptions/${id}/enable`), options);
    },
    async cancelSubscription(id: string, options?: CallOptions) {
      return await call(Message, post(path`/v1/subscriptions/${id}/cancel`), options);
    },
    async updateSubscription(id: string, payload: object, options?: CallOptions) {
      return await call(Message, patch(path`/v1/subscriptions/${id}`, payload), options);
    },
  };
}

/** Invoices have a different header for the idempotency key. */
export function invoiceOperations(call: CallGateway) {
  const keyHeader = "X-Idempotency-Key";
  return {
    async createInvoice(payload: object, options?: CallOptions) {
      return await call(Invoice, { ...post("/v1/invoices", payload), keyHeader }, options);
    },
    async getInvoice(invoiceId: string, options?: CallOptions) {
      return await call(Invoice, get(path`/v1/invoices/${invoiceId}`), options);
    },
    async voidInvoice(invoiceId: string, voidReason = "", options?: CallOptions) {
      const body = voidReason === "" ? {} : { void_reason: voidReason };
      const spec = patch(path`/v1/invoices/${invoiceId}/void`, body);
      return await call(Voided, { ...spec, keyHeader }, options);
    },
  };
}
