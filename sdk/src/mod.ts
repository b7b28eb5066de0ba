/** Public exports of the client of the Payment Gateway Integration Service. */

export { createPaymentGateway, PaymentGateway, type PaymentGatewayOptions } from "./gateway.ts";
export { ConnectionError, type ErrorCode, PaymentGatewayError } from "./errors.ts";
export { type ListQuery, type Page, Pager } from "./pager.ts";
export { type CallOptions, type KeyedOptions, requestIdOf } from "./call.ts";
export type { StreamOptions } from "./events.ts";
export type { WaitOptions } from "./wait.ts";
export {
  verifyWebhook,
  type WebhookBody,
  WebhookError,
  type WebhookHeaders,
} from "./verify_webhook.ts";
export { type SignedWebhook, signWebhook, type SignWebhookOptions } from "./sign_webhook.ts";
export type { OtherPayment, PaymentOf, PaymentType } from "./payment_types.ts";
export type * from "#api/types";
