/** Kinds of actions: the same action has another route in the API than in the console. */

/** The method and the route of each way to do it. */
export const ACTIONS_OF_KIND = {
  charge: ["POST /charge/"],
  refund: payment("refund"),
  cancel: payment("cancel"),
  expire: payment("expire"),
  capture: payment("capture"),
  approve: review("approve"),
  deny: review("deny"),
  mark_refund_denied: [
    "POST /refunds/{pk}/mark-denied/",
    "POST /console/payments/{id}/refunds/{refund}/mark-denied/",
  ],
  create_checkout: ["POST /checkouts/", "POST /console/checkouts/new/"],
  cancel_checkout: ["POST /checkouts/{pk}/cancel/", "POST /console/checkouts/{id}/cancel/"],
  create_invoice: ["POST /invoices/", "POST /console/invoices/new/"],
  void_invoice: ["POST /invoices/{pk}/void/", "POST /console/invoices/{id}/void/"],
  create_subscription: ["POST /subscriptions/"],
  update_subscription: ["PATCH /subscriptions/{pk}/"],
  disable_subscription: subscription("disable"),
  enable_subscription: subscription("enable"),
  cancel_subscription: subscription("cancel"),
  create_key: ["POST /keys/", "POST /console/keys/"],
  revoke_key: ["DELETE /keys/{prefix}/", "POST /console/keys/{prefix}/revoke/"],
  replay_notification: [
    "POST /notifications/{pk}/replay/",
    "POST /console/notifications/{id}/replay/",
  ],
  retry_job: ["POST /jobs/{pk}/retry/", "POST /console/jobs/{id}/retry/"],
  create_webhook_endpoint: ["POST /webhook-endpoints/", "POST /console/webhooks/new/"],
  update_webhook_endpoint: [
    "PATCH /webhook-endpoints/{pk}/",
    "POST /console/webhooks/{id}/edit/",
    "POST /console/webhooks/{id}/enable/",
    "POST /console/webhooks/{id}/disable/",
  ],
  delete_webhook_endpoint: [
    "DELETE /webhook-endpoints/{pk}/",
    "POST /console/webhooks/{id}/delete/",
  ],
  test_webhook_endpoint: endpoint("test"),
  rotate_webhook_secret: endpoint("rotate-secret"),
  resend_delivery: [
    "POST /webhook-endpoints/{pk}/deliveries/{delivery_id}/resend/",
    "POST /console/webhooks/{id}/{delivery}/resend/",
  ],
  reconcile: ["POST /reconciliations/", "POST /console/reconciliations/"],
  resolve_difference: difference("resolve"),
  reopen_difference: difference("reopen"),
  take_over: [...difference("take-over"), "POST /reconciliations/{pk}/take-over/"],
} as const satisfies Record<string, readonly string[]>;

export type AuditKind = keyof typeof ACTIONS_OF_KIND;

export const AUDIT_KINDS = Object.keys(ACTIONS_OF_KIND) as AuditKind[];

const KIND_OF_ACTION = new Map(
  AUDIT_KINDS.flatMap((kind) => ACTIONS_OF_KIND[kind].map((action) => [action as string, kind])),
);

/** Null: the action is of no kind, such as an export. */
export function kindOf(action: string): AuditKind | null {
  return KIND_OF_ACTION.get(action) ?? null;
}

function payment(action: string): string[] {
  return [`POST /payments/{pk}/${action}/`, `POST /console/payments/{id}/${action}/`];
}

function review(action: string): string[] {
  return [`POST /reviews/{pk}/${action}/`, `POST /console/payments/{id}/${action}/`];
}

function subscription(action: string): string[] {
  return [`POST /subscriptions/{pk}/${action}/`, `POST /console/subscriptions/{id}/${action}/`];
}

function endpoint(action: string): string[] {
  return [`POST /webhook-endpoints/{pk}/${action}/`, `POST /console/webhooks/{id}/${action}/`];
}

function difference(action: string): string[] {
  return [
    `POST /reconciliations/{pk}/differences/{difference_id}/${action}/`,
    `POST /console/reconciliations/{id}/${action}/`,
  ];
}
