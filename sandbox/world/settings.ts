/** What can be changed while the sandbox runs; the real gateway has it on its dashboard. */

export interface Settings {
  /** Where webhooks go; null: nowhere, unless a charge names its own address. */
  notification_url: string | null;
  recurring_notification_url: string | null;
  pay_account_notification_url: string | null;
  /** Whether an order id is free again after its transaction was denied (G§3.15). */
  reuse_order_id_after_deny: boolean;
}
