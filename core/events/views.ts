/** Events as those who read and those who listen see them. */

import type { GatewayEvent } from "../../db/events.ts";
import type { PaymentEventName } from "../payments/states.ts";
import type { PaymentView } from "../payments/views.ts";

export interface EventView {
  id: string;
  name: PaymentEventName;
  created_at: string;
  /** The resource as it was after the change, and the notification that caused it. */
  data: PaymentView & { notification_id: string | null };
}

export function viewEvent({ id, name, created_at, data }: GatewayEvent): EventView {
  return {
    id,
    name: name as PaymentEventName,
    created_at: created_at.toISOString(),
    data: data as EventView["data"],
  };
}
