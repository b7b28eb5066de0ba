/** The pages of resources in the console. */

/** Where the pages of a kind of resource are. */
const RESOURCE_PATHS = {
  payment: "/payments/",
  invoice: "/invoices/",
  subscription: "/subscriptions/",
  webhook_endpoint: "/webhooks/",
};

/** The path of a resource's page in the console, by the name of its event; null: it has none. */
export function resourcePath(eventName: string, id: string): string | null {
  const kinds = Object.keys(RESOURCE_PATHS) as (keyof typeof RESOURCE_PATHS)[];
  const kind = kinds.find((each) => eventName.startsWith(`${each}_`));
  return kind ? `${RESOURCE_PATHS[kind]}${id}/` : null;
}
