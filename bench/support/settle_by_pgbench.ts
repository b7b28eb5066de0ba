/** The statements of a settlement notification, run by `pgbench`. */

import { newPayment } from "../../core/payments/new_payment.ts";
import { viewPayment } from "../../core/payments/views.ts";
import { idOf, nthRow, PENDING, settlement, STRIDE } from "./pending_payments.ts";
import { pacePgbench, type Run, runPgbench } from "./pgbench.ts";

export interface Workload {
  /** The number of rows in the table. */
  rows: number;
  /** Where to start in the order of settlement: the `n` of `nthRow` for the first payment. */
  first: number;
  clients: number;
  /** The number of transactions of each client. */
  transactions: number;
}

/** With n clients, each settles every n-th payment, so that no two settle the same one. */
const SCRIPT = `
\\set n :first + :client_id + :clients * :done
\\set done :done + 1
\\set row :oldest + :n * ${STRIDE} % ${PENDING}
begin;
insert into gateway.notifications (
  id, payment_id, order_id, transaction_id, transaction_status, fraud_status, payment_type,
  status_code, gross_amount, status, raw_payload, created_at
) values (
  uuidv7(), ${idOf(":row")}, :row::bigint || '-web', md5(:row::bigint::text)::uuid, 'settlement',
  'accept', 'bank_transfer', '200', '44000.00', 'processed', :payload::json, now()
);
update gateway.payments set
  transaction_status = 'settlement', fraud_status = 'accept', status_code = '200',
  status_message = 'midtrans payment notification', captured_amount = 44000,
  settlement_time = now(), paid_at = now(), check_at = null, event_count = event_count + 1,
  version = version + 1, updated_at = now()
where id = ${idOf(":row")};
insert into gateway.events (
  id, name, resource, resource_id, sequence, user_id, data, created_at
) values (
  uuidv7(), 'payment_settled', 'payment', ${idOf(":row")}, 2, 'user-1', :data::json, now()
);
commit;
`;

/** Transactions per second. */
export async function settleByPgbench(url: string, workload: Workload): Promise<number> {
  return await runPgbench(buildRun(url, workload));
}

/** The latency of each transaction at this rate. */
export async function settlePacedByPgbench(
  url: string,
  workload: Workload,
  perSecond: number,
): Promise<number[]> {
  return await pacePgbench(buildRun(url, workload), perSecond);
}

function buildRun(url: string, { rows, first, clients, transactions }: Workload): Run {
  const { signature_key: _, ...payload } = settlement(rows);
  return {
    url,
    script: SCRIPT,
    clients,
    transactions,
    variables: {
      clients,
      first,
      oldest: nthRow(rows, 0),
      done: 0,
      payload: JSON.stringify(payload),
      data: JSON.stringify(eventData()),
    },
  };
}

/** The payment in the event. */
function eventData(): object {
  const now = new Date();
  const payment = newPayment(
    {
      payment_type: "bank_transfer",
      bank: "bca",
      gross_amount: 44_000,
      customer_details: { first_name: "Budi", email: "budi@example.com" },
      item_details: [{ name: "Coffee", price: 22_000, quantity: 2 }],
    },
    "user-1",
    now,
  );
  return {
    ...viewPayment({
      ...payment,
      transaction_id: crypto.randomUUID(),
      transaction_status: "settlement",
      fraud_status: "accept",
      status_code: "200",
      status_message: "midtrans payment notification",
      captured_amount: 44_000,
      va_number: "812785002530231",
      transaction_time: now,
      settlement_time: now,
      expiry_time: now,
    }),
    notification_id: crypto.randomUUID(),
  };
}
