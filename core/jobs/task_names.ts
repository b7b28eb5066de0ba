/** Names of tasks, for code that enqueues their jobs without importing the tasks. */

export const CHECK_PAYMENT_STATUS = "check_payment_status";
export const CHECK_INVOICE_STATUS = "check_invoice_status";
export const CHECK_SUBSCRIPTION_STATUS = "check_subscription_status";
export const SETTLE_CHECKOUT = "settle_checkout";
export const PROCESS_NOTIFICATION = "process_notification";
