/** The pages of resources in the console. */

const PATHS = {
  payment: "/payments/",
  checkout: "/checkouts/",
  invoice: "/invoices/",
  subscription: "/subscriptions/",
  webhook_endpoint: "/webhooks/",
  event: "/events/",
  job: "/jobs/",
  notification: "/notifications/",
};

type Kind = keyof typeof PATHS;

/** The kinds that events are about: an event's name begins with its kind. */
const EVENT_KINDS: readonly Kind[] = [
  "payment",
  "checkout",
  "invoice",
  "subscription",
  "webhook_endpoint",
];

/** The path of the page of an event's resource; null: it has none. */
export function pathByEvent(eventName: string, id: string): string | null {
  if (eventName.startsWith("attention_")) return "/status/";
  const kind = EVENT_KINDS.find((each) => eventName.startsWith(`${each}_`));
  return kind ? `${PATHS[kind]}${id}/` : null;
}

/** The kinds by the first part of a route of the API or of the console. */
const ROUTE_KINDS = new Map<string, Kind>(Object.entries({
  charge: "payment",
  checkouts: "checkout",
  events: "event",
  invoices: "invoice",
  jobs: "job",
  notifications: "notification",
  payments: "payment",
  reviews: "payment",
  subscriptions: "subscription",
  "webhook-endpoints": "webhook_endpoint",
  webhooks: "webhook_endpoint",
}));

/** The path of the page of what a request was about; null: it has none. */
export function pathByRoute(area: string, id: string): string | null {
  const kind = ROUTE_KINDS.get(area);
  return kind ? `${PATHS[kind]}${id}/` : null;
}
