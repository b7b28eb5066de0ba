/** Notifications as staff see them. */

import { type GatewayNotification, NOTIFICATION_STATUSES } from "../../db/notifications.ts";

export { NOTIFICATION_STATUSES };

export type NotificationView = ReturnType<typeof viewNotification>;

export function viewNotification(notification: GatewayNotification) {
  return {
    id: notification.id,
    payment_id: notification.payment_id,
    order_id: notification.order_id,
    transaction_id: notification.transaction_id,
    transaction_status: notification.transaction_status,
    fraud_status: notification.fraud_status,
    payment_type: notification.payment_type,
    status_code: notification.status_code,
    gross_amount: notification.gross_amount,
    status: notification.status,
    error_message: notification.error_message,
    raw_payload: notification.raw_payload,
    created_at: notification.created_at.toISOString(),
  };
}
