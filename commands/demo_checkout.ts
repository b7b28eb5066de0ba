/** The demo checkout of the embedded default: its page is the first that a newcomer sees. */

import { createCheckout } from "../core/checkouts/create.ts";
import { checkoutUrl, listCheckouts } from "../core/checkouts/read.ts";
import type { Caller } from "../core/auth/caller.ts";
import type { Service } from "../core/service.ts";
import { DEVELOPER } from "./development_keys.ts";

const CALLER: Caller = {
  userId: DEVELOPER,
  isStaff: false,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
  actor: "task:start",
};

/** With everything that a lender asks for, so that the page offers every method. */
const ORDER = {
  gross_amount: 150_000,
  item_details: [{
    id: "sku-7",
    name: "Coffee beans, 1 kg",
    price: 75_000,
    quantity: 2,
    category: "Coffee",
    url: "https://shop.example/coffee",
  }],
  customer_details: {
    first_name: "Budi",
    email: "budi@example.com",
    phone: "08123456789",
    shipping_address: { first_name: "Budi", address: "Jalan Kopi 1" },
  },
  metadata: { is_demo: true },
};

/** A link that ends soon is of little use to a newcomer. */
const SHORTEST_MS = 60 * 60 * 1_000;

/** How many of the developer's own checkouts may be newer than the demo. */
const MAX_NEWER = 100;

/** The link of the demo. Null: it could not be opened; the service runs without it. */
export async function openDemoCheckout(service: Service): Promise<string | null> {
  try {
    return await findOrCreate(service);
  } catch (error) {
    service.log.error("demo_checkout_failed", error);
    return null;
  }
}

/** Returns the link of the demo that is still open, so that restarts do not pile them up. */
async function findOrCreate(service: Service): Promise<string> {
  const { checkouts } = await listCheckouts(service, CALLER, {
    status: ["open"],
    after: null,
    limit: MAX_NEWER,
  });
  const open = checkouts.find(({ metadata, expires_at }) =>
    metadata?.is_demo === true && Date.parse(expires_at) - service.clock() > SHORTEST_MS
  );
  const { id } = open ?? (await createCheckout(service, CALLER, ORDER, null)).body;
  return checkoutUrl(service, id)!;
}
