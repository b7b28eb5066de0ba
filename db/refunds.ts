/** Refunds: the model. They are written together with their payment. */

export interface GatewayRefund {
  id: string;
  payment_id: string;
  /** The gateway makes one refund of a key, however often it is asked. */
  refund_key: string;
  amount: number;
  reason: string | null;
  is_direct: boolean;
  status: RefundStatus;
  status_code: string | null;
  status_message: string | null;
  created_at: Date;
  updated_at: Date;
}

export const REFUND_STATUSES = ["pending", "succeeded", "denied", "failed"] as const;

export type RefundStatus = (typeof REFUND_STATUSES)[number];

/** As it comes in a payment's row: JSON, whose times are text. */
export function readRefund(row: GatewayRefund): GatewayRefund {
  return { ...row, created_at: new Date(row.created_at), updated_at: new Date(row.updated_at) };
}
