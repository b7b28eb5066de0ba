/** What happens to webhook endpoints themselves. */

export const WEBHOOK_EVENT_NAMES = ["webhook_endpoint_disabled"] as const;

export type WebhookEventName = (typeof WEBHOOK_EVENT_NAMES)[number];

/** Only sent where somebody asks for it, never stored. */
export const TEST_EVENT_NAME = "webhook_endpoint_tested";
