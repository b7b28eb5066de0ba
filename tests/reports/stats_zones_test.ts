import assert from "node:assert/strict";
import { newId } from "../../core/ids.ts";
import { rebuildStats } from "../../core/reports/count_payments.ts";
import { medianSeconds, payTimeRange } from "../../core/reports/pay_times.ts";
import { runSql } from "../support/database/database.ts";
import { fc } from "../support/fast_check.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments } from "../support/payments/payments.ts";
import { isPartial } from "../support/share.ts";

/** The clocks in New York go forward on 2031-03-09. */
const BEGIN = Date.parse("2031-02-20T00:00:00Z");
const DAYS = 35;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Around midnight in Jakarta, Makassar, Jayapura, UTC and New York, and at noon in Jakarta. */
const HOURS = [0, 3, 4, 5, 6, 13, 14, 15, 16, 17, 18, 23];

const ZONES = ["Asia/Jakarta", "Asia/Makassar", "Asia/Jayapura", "UTC", "America/New_York"];

const INTERVALS = ["hour", "day", "week", "month"];

const GROUPS = [[], ["payment_type"], ["payment_type", "bank"], ["transaction_status"], [
  "user_id",
]];

/** Whole days of most zones; within days of Jakarta; less than a day. */
const RANGES = [
  ["2031-02-20T17:00:00Z", "2031-03-27T17:00:00Z"],
  ["2031-02-22T09:00:00Z", "2031-03-25T03:00:00Z"],
  ["2031-03-09T02:00:00Z", "2031-03-09T17:00:00Z"],
];

interface Plan {
  user_id: string;
  payment_type: string;
  bank: string | null;
  transaction_status: "pending" | "settlement" | "partial_refund" | "chargeback";
  amount: number;
  day: number;
  hour: number;
  minute: number;
  minutesToPay: number;
  /** From the payment to the refund or chargeback. */
  hoursToReversal: number;
}

const plans = fc.array(
  fc.record<Plan>({
    user_id: fc.constantFrom("alice", "bob"),
    payment_type: fc.constantFrom("gopay", "qris"),
    bank: fc.constantFrom("bca", null),
    transaction_status: fc.constantFrom("pending", "settlement", "partial_refund", "chargeback"),
    amount: fc.integer({ min: 1_000, max: 1_000_000 }),
    day: fc.integer({ min: 0, max: DAYS - 1 }),
    hour: fc.constantFrom(...HOURS),
    minute: fc.integer({ min: 0, max: 59 }),
    minutesToPay: fc.integer({ min: 1, max: 300 }),
    hoursToReversal: fc.integer({ min: 0, max: 50 }),
  }),
  { minLength: 20, maxLength: 60 },
);

function timesOf(plan: Plan) {
  const created = BEGIN + (plan.day * 24 + plan.hour) * HOUR + plan.minute * MINUTE;
  const paid = created + plan.minutesToPay * MINUTE;
  return { created, paid, reversed: paid + plan.hoursToReversal * HOUR };
}

function refundOf({ transaction_status, amount }: Plan): number {
  return transaction_status === "partial_refund" ? Math.ceil(amount / 3) : 0;
}

async function insertPayments(url: string, planned: Plan[]) {
  const payments = planned.map((plan, index) => {
    const { created, paid, reversed } = timesOf(plan);
    const isPaid = plan.transaction_status !== "pending";
    return {
      ...plan,
      id: newId(new Date(created)),
      order_id: `order-${index}`,
      currency: "IDR",
      gross_amount: plan.amount,
      captured_amount: isPaid ? plan.amount : null,
      refunded_amount: refundOf(plan),
      paid_at: isPaid ? new Date(paid) : null,
      sent_at: new Date(created),
      created_at: new Date(created),
      updated_at: new Date(reversed),
    };
  });
  const rows = `json_to_recordset('${JSON.stringify(payments)}') as payment (id uuid, user_id text,
    order_id text, payment_type text, bank text, transaction_status text, currency text,
    gross_amount bigint, captured_amount bigint, refunded_amount bigint, paid_at timestamptz,
    sent_at timestamptz, created_at timestamptz, updated_at timestamptz)`;
  const columns = "id, user_id, order_id, payment_type, bank, transaction_status, currency, " +
    "gross_amount, captured_amount, refunded_amount, paid_at, sent_at, created_at, updated_at";
  await runSql(url, `insert into gateway.payments (${columns}) select ${columns} from ${rows}`);
  await runSql(
    url,
    `insert into gateway.refunds (id, payment_id, refund_key, amount, is_direct, status, created_at,
      updated_at)
    select gen_random_uuid(), id, 'refund', refunded_amount, false, 'succeeded', updated_at, updated_at
    from ${rows} where refunded_amount > 0`,
  );
  await runSql(
    url,
    `insert into gateway.history (resource, resource_id, to_status, source, created_at)
    select 'payment', id, transaction_status, 'notification', updated_at from ${rows}`,
  );
}

/** What a payment adds to the figures, and when. */
function factsOf(plan: Plan) {
  const { created, paid, reversed } = timesOf(plan);
  const isPaid = plan.transaction_status !== "pending";
  const isChargedBack = plan.transaction_status === "chargeback";
  const payTime = isPaid ? [payTimeRange(plan.minutesToPay * 60)] : [];
  const none = { count: 0, paid: 0, gross: 0, refunded: 0, chargedBack: 0, payTimes: [] };
  const facts = [
    { ...none, time: created, count: 1, paid: isPaid ? 1 : 0, payTimes: payTime },
    { ...none, time: paid, gross: isPaid ? plan.amount : 0 },
    { ...none, time: reversed, refunded: refundOf(plan) },
    { ...none, time: reversed, chargedBack: isChargedBack ? plan.amount : 0 },
  ];
  return facts.filter((fact) => fact.count + fact.gross + fact.refunded + fact.chargedBack > 0);
}

/** The date, or the hour, by which an interval of the zone is known. */
function labelOf(time: number, interval: string, timeZone: string): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone);
  if (interval === "hour") return new Date(Math.floor(time / HOUR) * HOUR).toISOString();
  const date = zoned.toPlainDate();
  if (interval === "week") return date.subtract({ days: date.dayOfWeek - 1 }).toString();
  return (interval === "month" ? date.with({ day: 1 }) : date).toString();
}

interface Query {
  from: string;
  to: string;
  interval: string;
  timeZone: string;
  groups: string[];
}

/** The figures by interval and group, computed from the payments. */
function expectedRows(planned: Plan[], { from, to, interval, timeZone, groups }: Query) {
  const sums: Record<string, ReturnType<typeof factsOf>[number]> = {};
  for (const plan of planned) {
    for (const { time, ...fact } of factsOf(plan)) {
      if (time < Date.parse(from) || time >= Date.parse(to)) continue;
      const values = groups.map((group) => plan[group as keyof Plan]);
      const key = JSON.stringify([labelOf(time, interval, timeZone), ...values]);
      const sum = sums[key];
      sums[key] = {
        time,
        count: (sum?.count ?? 0) + fact.count,
        paid: (sum?.paid ?? 0) + fact.paid,
        gross: (sum?.gross ?? 0) + fact.gross,
        refunded: (sum?.refunded ?? 0) + fact.refunded,
        chargedBack: (sum?.chargedBack ?? 0) + fact.chargedBack,
        payTimes: [...sum?.payTimes ?? [], ...fact.payTimes],
      };
    }
  }
  const rows = Object.entries(sums).map(([key, { time: _, payTimes, ...sum }]) => {
    const counts = Map.groupBy(payTimes, (range) => range);
    const times = new Map([...counts].map(([range, { length }]) => [range, length]));
    return [key, {
      ...sum,
      median: groups.includes("transaction_status") ? null : medianSeconds(times),
    }];
  });
  return Object.fromEntries(rows);
}

function foundRows(rows: Json[], { interval, timeZone, groups }: Query) {
  const found = Object.fromEntries(rows.map((row) => {
    const label = labelOf(Date.parse(row.start), interval, timeZone);
    return [JSON.stringify([label, ...groups.map((group) => row[group])]), {
      count: row.count,
      paid: row.paid_count,
      gross: Number(row.gross_amount),
      refunded: Number(row.refund_amount),
      chargedBack: Number(row.chargeback_amount),
      median: row.median_seconds_to_pay,
    }];
  }));
  assert.equal(Object.keys(found).length, rows.length);
  return found;
}

Deno.test("stats: agree with the payments in every time zone, interval and group", async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (planned) => {
      await using payments = await openPayments();
      await insertPayments(payments.databaseUrl, planned);
      await rebuildStats(payments.app.service);
      const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
      const alice = await payments.app.createKey({ userId: "alice" });

      const assertAgree = async (own: Plan[], key: string, query: Query) => {
        const { from, to, interval, timeZone, groups } = query;
        const parameters = new URLSearchParams({ from, to, interval, time_zone: timeZone });
        for (const group of groups) parameters.append("group_by", group);
        const response = await payments.get(`/stats/payments/?${parameters}`, key);
        assert.equal(response.status, 200, await response.clone().text());
        const { rows } = await response.json();
        const where = `${parameters}`;
        assert.deepEqual(foundRows(rows, query), expectedRows(own, query), where);
      };
      const ofAlice = planned.filter(({ user_id }) => user_id === "alice");
      const turns = GROUPS.length + 1;
      let number = 0;
      for (const timeZone of ZONES) {
        for (const interval of INTERVALS) {
          for (const [from, to] of RANGES as [string, string][]) {
            const query = { from, to, interval, timeZone };
            // Without `--full`, each combination has one group. The second term moves the turns, so
            // that each range gets each group.
            const turn = (number + Math.floor(number / turns)) % turns;
            number++;
            for (const [index, groups] of GROUPS.entries()) {
              if (isPartial && index !== turn) continue;
              await assertAgree(planned, staff, { ...query, groups });
            }
            if (isPartial && turn < GROUPS.length) continue;
            await assertAgree(ofAlice, alice, { ...query, groups: ["bank"] });
          }
        }
      }
    }),
    { numRuns: 3 },
  );
});
