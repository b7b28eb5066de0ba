/** Example requests and responses of webhook endpoints and deliveries. */

import type { z } from "@hono/zod-openapi";
import type { Example, Examples } from "../../core/fields/response.ts";
import type {
  WebhookEndpointChangesSchema,
  WebhookEndpointInputSchema,
} from "../../core/webhooks/endpoint_input.ts";
import type {
  WebhookDeliverySchema,
  WebhookEndpointSchema,
  WebhookEndpointWithSecretSchema,
  WebhookTestResultSchema,
} from "./schemas.ts";

type Endpoint = z.output<typeof WebhookEndpointSchema>;
type Delivery = z.output<typeof WebhookDeliverySchema>;

export const ENDPOINT_REQUESTS = {
  every_event: {
    summary: "Every event",
    value: { url: "https://shop.example/webhooks" },
  },
  some_events: {
    summary: "Selected events",
    value: {
      url: "https://shop.example/webhooks",
      event_names: ["payment_settled", "payment_refunded"],
      description: "The shop's order system",
    },
  },
} satisfies Examples<z.output<typeof WebhookEndpointInputSchema>>;

export const ENDPOINT_CHANGES = {
  some_events: {
    summary: "Select events",
    value: { event_names: ["payment_settled", "payment_refunded"] },
  },
  every_event: { summary: "Every event", value: { event_names: null } },
  enabled_endpoint: {
    summary: "Enable again, and send waiting deliveries",
    value: { enabled: true },
  },
} satisfies Examples<z.output<typeof WebhookEndpointChangesSchema>>;

const ENDPOINT: Endpoint = {
  id: "0197a402-4b1f-7e83-9d26-7c5a0e8f3b41",
  url: "https://shop.example/webhooks",
  event_names: ["payment_settled", "payment_refunded"],
  description: "The shop's order system",
  enabled: true,
  disabled_reason: null,
  failing_since: null,
  previous_secret_until: null,
  created_at: "2026-03-05T04:12:09.114Z",
  updated_at: "2026-03-05T04:12:09.114Z",
};

const DISABLED: Endpoint = {
  ...ENDPOINT,
  id: "0197a3ff-d036-7a15-8b70-1e9c4d6f2a58",
  url: "https://books.example/hooks/payments",
  event_names: null,
  description: null,
  enabled: false,
  disabled_reason: "failing",
  failing_since: "2026-03-03T22:10:00.418Z",
  created_at: "2026-01-12T07:30:25.660Z",
  updated_at: "2026-03-04T22:11:02.905Z",
};

export const ENDPOINTS = {
  enabled_endpoint: { summary: "Enabled, receives two kinds of events", value: ENDPOINT },
  disabled_endpoint: { summary: "Disabled after 24 hours of failures", value: DISABLED },
} satisfies Examples<Endpoint>;

/** The responses to `ENDPOINT_CHANGES`. */
export const CHANGED_ENDPOINTS = {
  some_events: { summary: "Receives two kinds of events", value: ENDPOINT },
  every_event: { summary: "Receives every event", value: { ...ENDPOINT, event_names: null } },
  enabled_endpoint: ENDPOINTS.enabled_endpoint,
} satisfies Record<keyof typeof ENDPOINT_CHANGES, Example<Endpoint>>;

export const ENDPOINT_PAGE = {
  page: { summary: "Two endpoints", value: [ENDPOINT, DISABLED] },
} satisfies Examples<Endpoint[]>;

/** Made-up secrets. */
export const ENDPOINTS_WITH_SECRETS = {
  every_event: {
    summary: "New endpoint; receives every event",
    value: {
      ...ENDPOINT,
      event_names: null,
      description: null,
      secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazB84nYq0mA=",
    },
  },
  some_events: {
    summary: "New endpoint; receives two kinds of events",
    value: { ...ENDPOINT, secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazB84nYq0mA=" },
  },
  rotated: {
    summary: "New secret; the previous one is valid for 24 hours",
    value: {
      ...ENDPOINT,
      previous_secret_until: "2026-03-07T09:00:00.532Z",
      updated_at: "2026-03-06T09:00:00.532Z",
      secret: "whsec_9nQ0xk1cT2m7yVbq3Jm4oX5sZ6dL8eR1wF0hG2uK7pA=",
    },
  },
} satisfies Examples<z.output<typeof WebhookEndpointWithSecretSchema>>;

const DELIVERED: Delivery = {
  id: "0197a3c5-90e4-7a77-9c02-5b8d1f3e6a94",
  event_name: "payment_settled",
  resource_id: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  sequence: 2,
  status: "delivered",
  attempts: 1,
  next_attempt_at: null,
  last_attempt_at: "2026-03-05T04:15:41.016Z",
  status_code: 200,
  answer: "ok",
  error: null,
  duration_ms: 84,
  delivered_at: "2026-03-05T04:15:41.016Z",
  created_at: "2026-03-05T04:15:40.871Z",
};

const RETRIED: Delivery = {
  ...DELIVERED,
  id: "0197a3c4-3b72-7c46-8d19-2f6e0a9b5c83",
  event_name: "payment_refunded",
  resource_id: "0197a3b8-6e05-7d92-8f34-9a1c3e5b7d60",
  sequence: 3,
  status: "pending",
  attempts: 2,
  next_attempt_at: "2026-03-05T04:19:33.740Z",
  last_attempt_at: "2026-03-05T04:14:33.740Z",
  status_code: null,
  answer: null,
  error: "The connection was refused",
  duration_ms: 3,
  delivered_at: null,
  created_at: "2026-03-05T04:14:28.195Z",
};

export const DELIVERY_PAGE = {
  page: { summary: "One delivered, one pending retry", value: [DELIVERED, RETRIED] },
} satisfies Examples<Delivery[]>;

export const DELIVERIES = {
  resent: {
    summary: "Pending again",
    value: {
      ...DELIVERED,
      status: "pending",
      attempts: 0,
      next_attempt_at: "2026-03-06T09:05:12.280Z",
      delivered_at: null,
    },
  },
} satisfies Examples<Delivery>;

export const TEST_RESULTS = {
  succeeded: {
    summary: "The endpoint returned 2xx",
    value: {
      id: "0197a403-0e6d-7b58-9f41-8d2c6a0e4b73",
      succeeded: true,
      status_code: 200,
      answer: "ok",
      error: null,
      duration_ms: 84,
    },
  },
  failed: {
    summary: "The endpoint did not respond",
    value: {
      id: "0197a403-0e6d-7b58-9f41-8d2c6a0e4b73",
      succeeded: false,
      status_code: null,
      answer: null,
      error: "The connection was refused",
      duration_ms: 3,
    },
  },
} satisfies Examples<z.output<typeof WebhookTestResultSchema>>;
