/** Examples for the OpenAPI document: subscriptions, and the requests that create them. */

import type { z } from "@hono/zod-openapi";
import type { Example, Examples } from "../../core/fields/response.ts";
import type {
  SubscriptionInputSchema,
  SubscriptionUpdate,
} from "../../core/subscriptions/subscription_input.ts";
import type {
  SubscriptionSchema,
  SubscriptionStatusCheckSchema,
} from "../../core/subscriptions/schema.ts";

type Subscription = z.output<typeof SubscriptionSchema>;

/** The request as the caller sends it: a time is a string. */
type Request = Omit<z.output<typeof SubscriptionInputSchema>, "start_time"> & {
  start_time?: string;
};

export const SUBSCRIPTION_REQUESTS = {
  active_subscription: {
    summary: "Saved card, monthly for a year",
    value: {
      name: "coffee-club",
      amount: 150000,
      payment_type: "credit_card",
      token: "481111xDUgxnnredRMAXuklkvAON1114",
      interval: 1,
      interval_unit: "month",
      max_interval: 12,
      start_time: "2099-01-01T02:00:00Z",
      retry_schedule: { interval: 1, interval_unit: "day", max_interval: 3 },
      customer_details: {
        first_name: "Budi",
        last_name: "Utomo",
        email: "budi@example.com",
        phone: "+628123456789",
      },
      metadata: { plan: "gold" },
    },
  },
  gopay_subscription: {
    summary: "Linked GoPay account, weekly, unlimited",
    value: {
      name: "coffee-club",
      amount: 40000,
      payment_type: "gopay",
      token: "eyJ0eXBlIjogIkdPUEFZX1dBTExFVCIsICJpZCI6ICIifQ==",
      gopay_account_id: "00000269-7836-49e5-bc65-e592afafec14",
      interval: 1,
      interval_unit: "week",
    },
  },
} satisfies Examples<Request>;

export const SUBSCRIPTION_UPDATES = {
  updated_subscription: {
    summary: "Another amount and name",
    value: { token: "481111xDUgxnnredRMAXuklkvAON1114", name: "coffee-club-2", amount: 175000 },
  },
  active_subscription: {
    summary: "Another card",
    value: { token: "521111gmWlxGZKqqdbkUCvgbBHFN1117" },
  },
} satisfies Examples<SubscriptionUpdate>;

const ACTIVE: Subscription = {
  id: "0197a3e1-6a90-7c18-8d3f-2b5e7f9a0c64",
  gateway_subscription_id: "d98a63b8-97e4-4059-825f-0f62340407e9",
  name: "coffee-club",
  payment_type: "credit_card",
  amount: "150000.00",
  currency: "IDR",
  interval: 1,
  interval_unit: "month",
  max_interval: 12,
  current_interval: 0,
  start_time: "2026-04-05T04:12:09.000Z",
  next_execution_at: "2026-04-05T04:12:09.000Z",
  status: "active",
  customer_first_name: "Budi",
  customer_last_name: "Utomo",
  customer_email: "budi@example.com",
  customer_phone: "+628123456789",
  metadata: { plan: "gold" },
  created_at: "2026-03-05T04:12:09.114Z",
  updated_at: "2026-03-05T04:12:09.482Z",
};

export const SUBSCRIPTIONS = {
  active_subscription: { summary: "Active, before the first cycle", value: ACTIVE },
  charged_subscription: {
    summary: "Active, in the third cycle",
    value: {
      ...ACTIVE,
      current_interval: 3,
      next_execution_at: "2026-07-05T04:12:09.000Z",
      updated_at: "2026-06-05T04:12:31.820Z",
    },
  },
  updated_subscription: {
    summary: "With another amount and name",
    value: {
      ...ACTIVE,
      name: "coffee-club-2",
      amount: "175000.00",
      updated_at: "2026-03-20T08:01:15.366Z",
    },
  },
  disabled_subscription: {
    summary: "Paused",
    value: { ...ACTIVE, status: "disabled", updated_at: "2026-03-20T08:01:15.366Z" },
  },
  cancelled_subscription: {
    summary: "Cancelled",
    value: { ...ACTIVE, status: "cancelled", updated_at: "2026-03-20T08:01:15.366Z" },
  },
} satisfies Examples<Subscription>;

/** The responses to `SUBSCRIPTION_REQUESTS`. */
export const CREATED_SUBSCRIPTIONS = {
  active_subscription: SUBSCRIPTIONS.active_subscription,
  gopay_subscription: {
    summary: "Active, on a linked GoPay account",
    value: {
      ...ACTIVE,
      payment_type: "gopay",
      amount: "40000.00",
      interval_unit: "week",
      max_interval: null,
      customer_first_name: null,
      customer_last_name: null,
      customer_email: null,
      customer_phone: null,
      metadata: null,
    },
  },
} satisfies Record<keyof typeof SUBSCRIPTION_REQUESTS, Example<Subscription>>;

export const SUBSCRIPTION_STATUS_CHECKS = {
  active: {
    summary: "Active",
    value: {
      subscription: ACTIVE,
      gateway_response: {
        id: "d98a63b8-97e4-4059-825f-0f62340407e9",
        name: "coffee-club",
        amount: "150000",
        currency: "IDR",
        status: "active",
        payment_type: "credit_card",
        transaction_ids: [],
      },
    },
  },
  unconfirmed: {
    summary: "Not confirmed by the gateway yet",
    value: {
      subscription: {
        ...ACTIVE,
        gateway_subscription_id: null,
        status: "pending",
        next_execution_at: null,
      },
      gateway_response: null,
    },
  },
} satisfies Examples<z.output<typeof SubscriptionStatusCheckSchema>>;

export const SUBSCRIPTION_PAGE = {
  page: {
    summary: "Two subscriptions",
    value: [
      ACTIVE,
      {
        ...ACTIVE,
        id: "0197a3d9-0f47-7a62-9b1c-8e3d5f7a2c90",
        gateway_subscription_id: "3f7c2b19-5d84-4e0a-9c61-7a2e8b4d6f05",
        payment_type: "gopay",
        amount: "40000.00",
        interval_unit: "week",
        max_interval: null,
        current_interval: 2,
        start_time: "2026-02-20T02:00:00.000Z",
        next_execution_at: "2026-03-06T02:00:00.000Z",
        metadata: null,
        created_at: "2026-02-13T02:00:00.250Z",
        updated_at: "2026-02-27T02:00:21.604Z",
      },
    ],
  },
} satisfies Examples<Subscription[]>;
