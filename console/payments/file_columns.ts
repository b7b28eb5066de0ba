/** The columns of the list of payments, as cells of an Excel file. */

import type { ExportedPayment, FileColumn } from "../../core/reports/exports.ts";
import type { Cell } from "../../core/reports/file_format.ts";
import { amountCell, timeCell } from "../shared/downloads.tsx";
import {
  cardBankName,
  cardName,
  fraudStatusName,
  methodName,
  threeDSecureName,
} from "../shared/format.ts";
import type { Words } from "../words/words.ts";
import { type Column, paymentCode } from "./query.ts";
import { paymentStatusText } from "./table.tsx";

export function fileColumns(
  words: Words,
  columns: readonly Column[],
): FileColumn<ExportedPayment>[] {
  const { columnNames } = words.paymentsPage;
  return columns.flatMap((column) => [
    {
      name: TIMES.includes(column) ? `${columnNames[column]} (WIB)` : columnNames[column],
      valueOf: (payment: ExportedPayment) => VALUES[column](words, payment),
    },
    ...column === "card" ? cardColumns(words) : [],
  ]);
}

/** More about the card, only in the file: the page of 50 payments would become too large. */
function cardColumns(words: Words): FileColumn<ExportedPayment>[] {
  return [
    { name: words.paymentsPage.cardBank, valueOf: cardBankName },
    { name: "3-D Secure", valueOf: ({ card }) => threeDSecureName(words, card) },
  ];
}

const TIMES: readonly Column[] = ["created", "settled"];

const VALUES: Record<Column, (words: Words, payment: ExportedPayment) => Cell> = {
  amount: (_, { gross_amount }) => amountCell(gross_amount),
  refunded: (_, { refund_amount }) => amountCell(refund_amount),
  net: (_, { net_amount }) => amountCell(net_amount),
  fee: (_, { fee_amount }) => amountCell(fee_amount),
  payout: (_, { payout_amount }) => amountCell(payout_amount),
  status: paymentStatusText,
  fraud: (words, { fraud_status }) => fraud_status && fraudStatusName(words, fraud_status),
  order: (_, { order_id }) => order_id,
  customer: (_, { customer_email }) => customer_email,
  name: (_, { customer_first_name, customer_last_name }) =>
    [customer_first_name, customer_last_name].filter(Boolean).join(" ") || null,
  phone: (_, { customer_phone }) => customer_phone,
  method: (words, { payment_type, bank }) => methodName(words, payment_type, bank),
  code: (_, payment) => paymentCode(payment),
  card: (_, { card }) => card && (cardName(card) || null),
  approval: (_, { card }) => card?.approval_code ?? null,
  created: (_, { created_at }) => timeCell(created_at),
  settled: (_, { settlement_time }) => timeCell(settlement_time),
  transaction: (_, { transaction_id }) => transaction_id,
  user: (_, { user_id }) => user_id,
  id: (_, { id }) => id,
};
