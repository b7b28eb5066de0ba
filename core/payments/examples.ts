/** Example payments of the OpenAPI document, as the sandbox returned them. */

import { getOpenApiMetadata } from "@asteasolutions/zod-to-openapi";
import type { z } from "@hono/zod-openapi";
import { PaymentItemSchema, PaymentSchema, RefundSchema } from "./schema.ts";
import type { Examples } from "../fields/response.ts";

type Payment = z.output<typeof PaymentSchema>;
type Refund = z.output<typeof RefundSchema>;

const GATEWAY = "https://api.midtrans.com";

/** The example of each field, as in the schema. Together they describe a virtual account. */
const FIELDS = fieldExamples(PaymentSchema);

const CUSTOMER = {
  customer_first_name: FIELDS.customer_first_name,
  customer_last_name: FIELDS.customer_last_name,
  customer_email: FIELDS.customer_email,
  customer_phone: FIELDS.customer_phone,
};

const ITEM = {
  ...fieldExamples(PaymentItemSchema),
  id: "0197a3c2-5f4e-7a20-8b1d-4f0e6c9d2a31",
  url: "https://shop.example/coffee",
};

/** A payment of any type right after its charge, without the fields that only some types have. */
const NEW: Payment = {
  ...withoutNullable(FIELDS),
  transaction_status: "pending",
  transaction_id: FIELDS.transaction_id,
  fraud_status: FIELDS.fraud_status,
  status_code: FIELDS.status_code,
  transaction_time: FIELDS.transaction_time,
  expiry_time: FIELDS.expiry_time,
  chargeback_amount: FIELDS.chargeback_amount,
  items: [],
  created_at: "2026-03-05T04:12:09.114Z",
  updated_at: "2026-03-05T04:12:09.482Z",
};

const VIRTUAL_ACCOUNT: Payment = {
  ...NEW,
  ...CUSTOMER,
  bank: FIELDS.bank,
  status_message: FIELDS.status_message,
  va_number: FIELDS.va_number,
  no_refund_reason: FIELDS.no_refund_reason,
  items: [ITEM],
};

const PAID = {
  captured_amount: "150000.00",
  transaction_status: "settlement",
  status_code: "200",
  status_message: "midtrans payment notification",
  settlement_time: "2026-03-05T04:15:40.000Z",
  net_amount: "150000.00",
  allowed_actions: [],
  is_paid: true,
  is_pending: false,
  updated_at: "2026-03-05T04:15:40.871Z",
} satisfies Partial<Payment>;

const CARD: Payment = {
  ...NEW,
  ...CUSTOMER,
  payment_type: "credit_card",
  bank: "bni",
  card: {
    masked_number: "48111111-1114",
    brand: "visa",
    approval_code: "1709203456789",
    three_d_secure: "not_authenticated",
    three_d_secure_version: null,
    eci: "07",
  },
  status_message: "Success, Credit Card transaction is successful",
  expiry_time: "2026-03-05T04:22:09.000Z",
};

const CAPTURED = {
  captured_amount: "150000.00",
  transaction_status: "capture",
  status_code: "200",
  expiry_time: "2026-03-13T04:12:09.000Z",
  net_amount: "150000.00",
  allowed_actions: ["cancel"],
  is_paid: true,
  is_pending: false,
} satisfies Partial<Payment>;

const GOPAY: Payment = {
  ...NEW,
  payment_type: "gopay",
  status_message: "GO-PAY billing created",
  deeplink_url: `${GATEWAY}/gopay/app/f959b753-3fd0-4b29-b37d-366e300fe635`,
  qr_url: `${GATEWAY}/v4/qris/gopay/ea6d612d83b716a0ba9074056e8c9038/qr-code`,
  expiry_time: "2026-03-05T04:27:09.000Z",
};

const QRIS: Payment = {
  ...NEW,
  payment_type: "qris",
  acquirer: "gopay",
  status_message: "QRIS transaction is created",
  qr_string:
    "00020101021226690017ID.CO.SANDBOX.WWW011893600914000000000002151b85a77535ae43a0303UMI" +
    "52045999530336054061500005802ID5916Sandbox Merchant6007JAKARTA61051011062260110order-1893" +
    "05081b85a7756304E626",
  qr_url: `${GATEWAY}/v4/qris/2ee0d79f2aaf65cefa7e48c8dd4f31c9/qr-code`,
  expiry_time: "2026-03-05T06:12:09.000Z",
};

const PART: Refund = {
  ...fieldExamples(RefundSchema),
  id: "0197a3c4-8d2a-7b13-8c5e-6a1f0e9d7c42",
  created_at: "2026-03-06T02:30:00.214Z",
};

const REST: Refund = {
  ...PART,
  id: "0197a3c6-1b70-7c52-9a04-5d8e2f7b6c13",
  refund_key: "0197a3c6-1b70-7c52-9a04-5d8e2f7b6c13",
  amount: "100000.00",
  reason: null,
  created_at: "2026-03-07T02:31:12.530Z",
};

const PARTLY_REFUNDED: Payment = {
  ...GOPAY,
  ...PAID,
  transaction_status: "partial_refund",
  status_message: "Success, transaction is found",
  refund_amount: "50000.00",
  net_amount: "100000.00",
  refunds: [PART],
  allowed_actions: ["refund"],
  updated_at: "2026-03-06T02:30:00.642Z",
};

const REFUNDED: Payment = {
  ...PARTLY_REFUNDED,
  transaction_status: "refund",
  refund_amount: "150000.00",
  net_amount: "0.00",
  refunds: [PART, REST],
  allowed_actions: [],
  is_paid: false,
  updated_at: "2026-03-07T02:31:12.984Z",
};

/** Responses to a charge: one of each type, and each immediate result of a card. */
export const CHARGED = {
  pending_virtual_account: {
    summary: "Virtual account: show bank and va_number",
    value: VIRTUAL_ACCOUNT,
  },
  pending_card: {
    summary: "Card with 3-D Secure: send the customer to redirect_url",
    value: {
      ...CARD,
      redirect_url: `${GATEWAY}/v2/3ds/redirect/a9259312bf1eb42c1f5d3b704ea76d8c`,
    },
  },
  paid_card: {
    summary: "Card without 3-D Secure: paid immediately",
    value: { ...CARD, ...CAPTURED },
  },
  authorized_card: {
    summary: "Card with authorize: authorized, can be captured",
    value: {
      ...CARD,
      transaction_status: "authorize",
      status_code: "200",
      expiry_time: "2026-03-13T04:12:09.000Z",
      allowed_actions: ["cancel", "capture"],
    },
  },
  denied_card: {
    summary: "Card declined by the bank",
    value: {
      ...CARD,
      transaction_status: "deny",
      status_code: "202",
      status_message: "Deny by Bank [BNI] with code [05] and message [Do not honour]",
      allowed_actions: [],
      is_pending: false,
      is_failed: true,
    },
  },
  pending_bill: {
    summary: "Mandiri bill: show biller_code and bill_key",
    value: {
      ...NEW,
      payment_type: "echannel",
      status_message: "OK, Mandiri Bill transaction is successful",
      bill_key: "228374455807",
      biller_code: "70012",
    },
  },
  pending_gopay: { summary: "GoPay: open deeplink_url or show qr_url", value: GOPAY },
  pending_shopeepay: {
    summary: "ShopeePay: open deeplink_url",
    value: {
      ...NEW,
      payment_type: "shopeepay",
      status_message: "ShopeePay transaction is created",
      deeplink_url: `${GATEWAY}/shopeepay/app/f66e8b9b-81e3-4ff2-b07f-1b79f2bd8270`,
      expiry_time: "2026-03-05T04:27:09.000Z",
    },
  },
  pending_ovo: {
    summary: "OVO: the customer's phone asks for the PIN",
    value: {
      ...NEW,
      ...CUSTOMER,
      payment_type: "ovo",
      status_message: "Ovo transaction is created",
      expiry_time: "2026-03-05T04:13:14.000Z",
    },
  },
  pending_dana: {
    summary: "DANA: open deeplink_url",
    value: {
      ...NEW,
      payment_type: "dana",
      status_message: "DANA transaction is created",
      deeplink_url: `${GATEWAY}/dana/app/54f0a643-65f2-4167-975f-a3b4597a6381`,
      expiry_time: "2026-03-05T04:27:09.000Z",
    },
  },
  pending_qris: { summary: "QRIS: show qr_url or render qr_string", value: QRIS },
  pending_store: {
    summary: "Convenience store: show payment_code",
    value: {
      ...NEW,
      payment_type: "cstore",
      store: "indomaret",
      fraud_status: null,
      status_message: "Success, cstore transaction is successful",
      payment_code: "17470320802834",
    },
  },
  pending_akulaku: {
    summary: "Akulaku: send the customer to redirect_url",
    value: {
      ...NEW,
      ...CUSTOMER,
      payment_type: "akulaku",
      status_message: "Success, Akulaku transaction is created",
      redirect_url: `${GATEWAY}/v2/akulaku/redirect/5c5f7846-536b-4974-af0d-3d22778cc3b3`,
      expiry_time: "2026-03-05T06:12:09.000Z",
      items: [ITEM],
    },
  },
  pending_kredivo: {
    summary: "Kredivo: send the customer to redirect_url",
    value: {
      ...NEW,
      ...CUSTOMER,
      payment_type: "kredivo",
      status_message: "Kredivo transaction is created",
      redirect_url: `${GATEWAY}/v2/oms/redirect/7a59e44d-843f-46f8-8092-34a3aa3fbf75`,
      items: [ITEM],
    },
  },
} satisfies Examples<Payment>;

/** Payments in later states. */
export const PAYMENTS = {
  paid_virtual_account: { summary: "Paid", value: { ...VIRTUAL_ACCOUNT, ...PAID } },
  partly_refunded_gopay: { summary: "Refunded in part", value: PARTLY_REFUNDED },
  refunded_gopay: { summary: "Refunded in full", value: REFUNDED },
  cancelled_virtual_account: {
    summary: "Cancelled",
    value: {
      ...VIRTUAL_ACCOUNT,
      transaction_status: "cancel",
      status_code: "200",
      status_message: "Success, transaction is canceled",
      allowed_actions: [],
      is_pending: false,
      is_failed: true,
      updated_at: "2026-03-05T04:20:31.402Z",
    },
  },
  expired_virtual_account: {
    summary: "Expired",
    value: {
      ...VIRTUAL_ACCOUNT,
      transaction_status: "expire",
      status_code: "407",
      status_message: "Success, transaction has expired",
      allowed_actions: [],
      is_pending: false,
      is_expired: true,
      updated_at: "2026-03-05T04:20:31.402Z",
    },
  },
  captured_card_in_full: {
    summary: "Captured in full",
    value: {
      ...CARD,
      ...CAPTURED,
      status_message: "Success, Credit Card capture transaction is successful",
      updated_at: "2026-03-06T08:00:12.775Z",
    },
  },
  captured_card: {
    summary: "Captured in part: the rest of the authorization is released",
    value: {
      ...CARD,
      ...CAPTURED,
      status_message: "Success, Credit Card capture transaction is successful",
      captured_amount: "120000.00",
      net_amount: "120000.00",
      updated_at: "2026-03-06T08:00:12.775Z",
    },
  },
  approved_card: {
    summary: "Challenged card payment that staff have approved: paid",
    value: {
      ...CARD,
      ...CAPTURED,
      status_message: "Success, transaction is approved",
      updated_at: "2026-03-05T05:01:44.318Z",
    },
  },
  rejected_card: {
    summary: "Challenged card payment that staff have denied",
    value: {
      ...CARD,
      transaction_status: "cancel",
      fraud_status: "deny",
      status_code: "200",
      status_message: "Success, transaction is denied",
      allowed_actions: [],
      is_pending: false,
      is_failed: true,
      updated_at: "2026-03-05T05:01:44.318Z",
    },
  },
  failed_qris: {
    summary: "Rejected by the gateway",
    value: {
      ...QRIS,
      transaction_id: null,
      transaction_status: "failure",
      fraud_status: null,
      status_code: "402",
      status_message: "Payment channel is not activated.",
      qr_string: null,
      qr_url: null,
      transaction_time: null,
      expiry_time: null,
      allowed_actions: [],
      is_pending: false,
      is_failed: true,
    },
  },
} satisfies Examples<Payment>;

export const REFUND_RESULTS = {
  part: {
    summary: "Partial refund",
    value: { payment: PARTLY_REFUNDED, refund: PART },
  },
  whole: {
    summary: "Refund of the remaining amount",
    value: { payment: REFUNDED, refund: REST },
  },
  direct: {
    summary: "Partial refund, synchronously through the bank or wallet",
    value: {
      payment: { ...PARTLY_REFUNDED, refunds: [{ ...PART, is_direct: true }] },
      refund: { ...PART, is_direct: true },
    },
  },
} satisfies Examples<{ payment: Payment; refund: Refund }>;

/** The example of each field; null for a field without one. */
function fieldExamples<S extends z.ZodObject>(schema: S): z.output<S> {
  const examples = Object.entries<z.ZodType>(schema.shape).map((
    [name, field],
  ) => [name, getOpenApiMetadata(field).example ?? null]);
  return Object.fromEntries(examples) as z.output<S>;
}

/** The same examples with null for every field that can be null, as a caller other than staff. */
function withoutNullable(fields: Payment): Payment {
  const { user_id: _, ...shape } = PaymentSchema.shape;
  const members = Object.entries(shape).map(([name, field]) =>
    [name, field.safeParse(null).success ? null : fields[name as keyof Payment]] as const
  );
  return Object.fromEntries(members) as Payment;
}
