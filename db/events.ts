/** Events: the model. They are written together with the change they tell of. */

export interface GatewayEvent {
  id: string;
  name: string;
  resource: "payment";
  resource_id: string;
  /** 1, 2, 3, … for each resource. */
  sequence: number;
  user_id: string | null;
  /** The resource as it was after the change. */
  data: object;
  created_at: Date;
}
