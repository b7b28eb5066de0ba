/** What the service knows about a customer, by email address or phone number. */

import { listPayments, listPaymentsOf } from "../../db/payments/lists.ts";
import { listRefundsOfPayments } from "../../db/payments/refunds.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import { listInvoices } from "../invoices/read.ts";
import type { InvoiceView } from "../invoices/views.ts";
import { formatMoney } from "../money.ts";
import {
  type PaymentSummary,
  type RefundDetailsView,
  summarizePayment,
  viewRefundDetails,
} from "../payments/views.ts";
import { impliesPaid } from "../payments/states.ts";
import type { Service } from "../service.ts";
import { listSubscriptions } from "../subscriptions/read.ts";
import type { SubscriptionView } from "../subscriptions/views.ts";

/** A customer is found by email address or by phone number. */
export type CustomerKey = { customer_email: string } | { customer_phone: string };

/** How many of the customer's newest payments are added up. */
export const MAX_ADDED_UP = 1_000;

/** How many of the newest records of each kind are returned. */
const MAX_LISTED = 20;

export interface CustomerView {
  /** The newest first, like all lists. */
  payments: PaymentSummary[];
  refunds: RefundDetailsView[];
  invoices: InvoiceView[];
  subscriptions: SubscriptionView[];
  sums: {
    /** How many payments were added up, and how many of them were paid. */
    count: number;
    paidCount: number;
    paid: string;
    refunded: string;
    chargedBack: string;
    net: string;
    /** False: the customer has older payments, which are not added up. */
    isComplete: boolean;
  };
}

/** For staff and viewers: the records can belong to several users. */
export async function readCustomer(
  service: Service,
  caller: Caller,
  key: CustomerKey,
): Promise<CustomerView> {
  requireReadAll(caller);
  const { database } = service;
  const page = { ...key, after: null, limit: MAX_ADDED_UP };
  const { rows: own } = await database.query(
    (sql) => listPayments(sql, { ...page, owner: null, limit: MAX_ADDED_UP + 1 }),
    "list payments of customer",
  );
  const { invoices } = await listInvoices(service, caller, page);
  const { subscriptions } = await listSubscriptions(service, caller, page);
  // The payments of invoices and subscriptions do not name the customer.
  const linked = await database.query(
    (sql) => listPaymentsOf(sql, idsOf(invoices), idsOf(subscriptions), MAX_ADDED_UP + 1),
    "list payments of customer's records",
  );
  const rows = [...new Map([...own, ...linked].map((row) => [row.id, row])).values()]
    .sort((a, b) => a.id < b.id ? 1 : -1);
  const added = rows.slice(0, MAX_ADDED_UP);
  const refunds = await database.query(
    (sql) => listRefundsOfPayments(sql, idsOf(added), MAX_LISTED),
    "list refunds of customer",
  );
  const payments = added.map((row) => summarizePayment(row, caller));
  // A captured card that was cancelled is not paid.
  const paid = added.filter(({ transaction_status, fraud_status }) =>
    impliesPaid({ status: transaction_status, fraud: fraud_status })
  );
  const sum = (amounts: number[]) => amounts.reduce((all, each) => all + each, 0);
  const sums = {
    paid: sum(paid.map(({ captured_amount, gross_amount }) => captured_amount ?? gross_amount)),
    refunded: sum(paid.map(({ refunded_amount }) => refunded_amount)),
    net: sum(payments.map(({ net_amount }) => Number(net_amount))),
  };
  return {
    payments: payments.slice(0, MAX_LISTED),
    refunds: refunds.map((refund) => viewRefundDetails(caller, refund)),
    invoices: invoices.slice(0, MAX_LISTED),
    subscriptions: subscriptions.slice(0, MAX_LISTED),
    sums: {
      count: added.length,
      paidCount: paid.length,
      paid: formatMoney(sums.paid),
      refunded: formatMoney(sums.refunded),
      chargedBack: formatMoney(sums.paid - sums.refunded - sums.net),
      net: formatMoney(sums.net),
      isComplete: rows.length <= MAX_ADDED_UP,
    },
  };
}

function idsOf(records: readonly { id: string }[]): string[] {
  return records.map(({ id }) => id);
}
