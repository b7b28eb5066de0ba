/** Example payments that the customer's bank has charged back. */

import type { Examples } from "../../core/fields/response.ts";
import type { PaymentView } from "../../core/payments/views.ts";
import { PAYMENTS } from "../../core/payments/examples.ts";

const SETTLED_CARD: PaymentView = {
  ...PAYMENTS.approved_card.value,
  settlement_time: "2026-03-06T04:12:09.000Z",
  status_message: "Success, transaction is found",
  allowed_actions: [],
};

export const CHARGEBACKS = {
  partly_charged_back_card: {
    summary: "Charged back in part; the gateway has not reported the amount",
    value: {
      ...SETTLED_CARD,
      transaction_status: "partial_chargeback",
      chargeback_amount: null,
      has_unknown_chargeback: true,
      updated_at: "2026-04-02T03:00:17.204Z",
    },
  },
  charged_back_card: {
    summary: "Charged back in full",
    value: {
      ...SETTLED_CARD,
      transaction_status: "chargeback",
      chargeback_amount: "150000.00",
      net_amount: "0.00",
      is_paid: false,
      updated_at: "2026-04-02T03:00:17.204Z",
    },
  },
} satisfies Examples<PaymentView>;
