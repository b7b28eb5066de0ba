/** Operations on subscriptions; only their creation takes an idempotency key. */

import { Message, Subscription } from "../answers.ts";
import type { Ask, CallOptions } from "../ask.ts";
import { get, patch, path, post } from "../draft.ts";

export function subscriptionOperations(ask: Ask) {
  return {
    async createSubscription(payload: object, options?: CallOptions) {
      const draft = post("/v1/subscriptions", payload);
      return await ask(Subscription, { ...draft, keyHeader: "Idempotency-Key" }, options);
    },
    async getSubscription(id: string, options?: CallOptions) {
      return await ask(Subscription, get(path`/v1/subscriptions/${id}`), options);
    },
    async disableSubscription(id: string, options?: CallOptions) {
      return await ask(Message, post(path`/v1/subscriptions/${id}/disable`), options);
    },
    async enableSubscription(id: string, options?: CallOptions) {
      return await ask(Message, post(path`/v1/subscriptions/${id}/enable`), options);
    },
    async cancelSubscription(id: string, options?: CallOptions) {
      return await ask(Message, post(path`/v1/subscriptions/${id}/cancel`), options);
    },
    async updateSubscription(id: string, payload: object, options?: CallOptions) {
      return await ask(Message, patch(path`/v1/subscriptions/${id}`, payload), options);
    },
  };
}
