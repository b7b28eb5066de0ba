import { parse } from "csv-parse/sync";
import { dayInWib } from "../../core/gateway/times.ts";
import assert from "node:assert/strict";
import { updateStats } from "../../core/reports/count_payments.ts";
import { createReconcile } from "../../core/reports/reconcile.ts";
import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { fc } from "../support/fast_check.ts";
import { nameOf, openRelayed } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { manualClock } from "../support/manual_clock.ts";
import type { ChargeKind } from "../support/payments/payments.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** The clocks of the service and of the sandbox begin here. */
const BEGIN = Date.parse("2031-03-01T00:00:00Z");

/** Midnight in Jakarta, in UTC, and in New York in winter. */
const MIDNIGHTS = [17, 0, 5];

/**
 * The first step is before a midnight, the second one after it. The sandbox's clock keeps running.
 */
const BEFORE_MIDNIGHT = 10 * MINUTE;
const STEP = 7 * MINUTE;

const ZONES = ["Asia/Jakarta", "UTC", "America/New_York", "Asia/Jayapura"];

const STEPS = ["pay", "capture", "refund", "charge_back", "charge_back_part", "wait"] as const;

const KINDS: ChargeKind[] = ["card", "card_auth", "gopay", "bca"];

interface Plan {
  kind: ChargeKind;
  amount: number;
  /** Days after the previous payment. */
  days: number;
  midnight: number;
  steps: (typeof STEPS)[number][];
}

const plans = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    amount: fc.integer({ min: 10_000, max: 1_000_000 }),
    days: fc.integer({ min: 0, max: 45 }),
    midnight: fc.constantFrom(...MIDNIGHTS),
    steps: fc.array(fc.constantFrom(...STEPS), { maxLength: 5 }),
  }),
  { minLength: 1, maxLength: 8 },
);

/** Every kind of amount, so that each run has some of each. */
const FIXED_PLANS: Plan[] = [
  { kind: "card", amount: 300_001, days: 0, midnight: 17, steps: ["pay", "refund", "refund"] },
  { kind: "card", amount: 99_999, days: 3, midnight: 0, steps: ["pay", "charge_back"] },
  {
    ...{ kind: "card", amount: 500_000, days: 80, midnight: 17 },
    steps: ["pay", "charge_back_part", "wait", "charge_back"],
  },
  { kind: "card", amount: 70_001, days: 0, midnight: 5, steps: ["pay", "charge_back_part"] },
  { kind: "card_auth", amount: 100_000, days: 70, midnight: 17, steps: ["capture", "pay"] },
  { kind: "card_auth", amount: 100_000, days: 1, midnight: 5, steps: ["capture", "pay", "refund"] },
  { kind: "gopay", amount: 10_007, days: 90, midnight: 17, steps: ["wait", "pay", "refund"] },
  { kind: "bca", amount: 250_000, days: 0, midnight: 17, steps: ["pay"] },
  { kind: "gopay", amount: 45_000, days: 90, midnight: 0, steps: [] },
];

async function openYear() {
  const clock = manualClock(BEGIN);
  const payments = await openRelayed({ now: clock.now });
  /** The sums of partial chargebacks by transaction. The sandbox does not report them. */
  const chargedBack = new Map<string, number>();
  payments.relay.intercept = async (request, pass) => {
    const response = await pass();
    if (nameOf(request) !== "GET /v2/:id/status") return response;
    const body = await response.json();
    const amount = chargedBack.get(body.transaction_id);
    const isPartial = body.transaction_status === "partial_chargeback";
    return Response.json({ ...body, ...isPartial && { chargeback_amount: `${amount}.00` } });
  };
  async function moveTo(time: number) {
    clock.set(new Date(time));
    await payments.sandbox.control("clock", { to: new Date(time).toISOString() });
  }
  await moveTo(BEGIN);
  return Object.assign(payments, { chargedBack, now: clock.now, moveTo });
}

type Year = Awaited<ReturnType<typeof openYear>>;

/** Makes the planned payments, and lets the gateway settle all that are captured. */
async function seedYear(year: Year, planned: Plan[]) {
  const ids: string[] = [];
  let last = year.now();
  for (const plan of planned) {
    const day = Math.floor(last / DAY) * DAY + DAY + plan.days * DAY;
    last = day + plan.midnight * 60 * MINUTE - BEFORE_MIDNIGHT;
    await year.moveTo(last);
    const payment = await year.charge(plan.kind, { gross_amount: plan.amount });
    ids.push(payment.id);
    for (const step of plan.steps) {
      last += STEP;
      await year.moveTo(last);
      await takeStep(year, payment.id, payment.transaction_id!, step, Math.ceil(plan.amount / 3));
      await year.refresh(payment.id);
    }
    if (plan.days % 3 === 0) await updateStats(year.app.service);
  }
  await year.moveTo(last + 3 * DAY);
  for (const id of ids) await year.refresh(id);
  await updateStats(year.app.service);
}

async function takeStep(
  year: Year,
  id: string,
  transactionId: string,
  step: Plan["steps"][number],
  part: number,
) {
  // The sandbox and the service refuse what the state of the payment does not allow.
  const control = async (action: string, body?: Json) =>
    await year.sandbox.control(`transactions/${transactionId}/${action}`, body).then(
      () => true,
      () => false,
    );
  if (step === "pay") await control("pay") || await control("settle");
  if (step === "capture") await year.post(`/payments/${id}/capture/`, { amount: part });
  if (step === "refund") await year.post(`/payments/${id}/refund/`, { amount: part });
  if (step === "charge_back") await control("chargeback");
  if (step === "charge_back_part") {
    year.chargedBack.set(transactionId, part);
    await control("chargeback", { amount: part });
  }
}

interface Totals {
  gross: number;
  refunded: number;
  chargedBack: number;
  net: number;
}

function totalsOf(rows: Json[], names: { gross: string }): Totals {
  const [gross, refunded, chargedBack, net] = [
    names.gross,
    "refund_amount",
    "chargeback_amount",
    "net_amount",
  ].map((name) => sumOf(rows, name));
  return { gross: gross!, refunded: refunded!, chargedBack: chargedBack!, net: net! };
}

function sumOf(rows: Json[], name: string): number {
  return rows.reduce((sum, row) => sum + Number(row[name]), 0);
}

/** The sums that the gateway pays out or takes back. */
function reportTotals(lines: Json[]): Totals {
  const of = (type: string) => Math.abs(sumOf(lines.filter((each) => each.type === type), AMOUNT));
  const [gross, refunded, chargedBack] = [of("settlement"), of("refund"), of("chargeback")];
  return { gross, refunded, chargedBack, net: gross - refunded - chargedBack };
}

const AMOUNT = "gross_amount";

/** The settlement reports of all days. */
async function readReports({ sandbox, now }: Year): Promise<{ text: string; lines: Json[] }> {
  let text = "";
  for (let time = BEGIN; time <= now(); time += DAY) {
    const report = await sandbox.settlementReport(dayInWib(new Date(time)));
    text += text === "" ? report : report.slice(report.indexOf("\r\n") + 2);
  }
  return { text, lines: parse(text, { columns: true }) };
}

async function readStats(year: Year, query: string): Promise<Json[]> {
  const response = await year.get(`/stats/payments/?from=2031-03-01&to=2033-06-01&${query}`);
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).rows;
}

async function readExport(year: Year, name: string, query = ""): Promise<Json[]> {
  const response = await year.get(`/exports/${name}/${query}`);
  return parse(await response.text(), { columns: true });
}

/** Uploads the reports and compares them. */
async function reconcile(year: Year, body: string): Promise<Json> {
  const staff = await year.app.createKey({ userId: "carol", isStaff: true });
  const headers = { "Content-Type": "text/csv" };
  const init = { method: "POST", body, headers };
  const uploaded = await year.app.as(staff, "/reconciliations/", init);
  assert.equal(uploaded.status, 202, await uploaded.clone().text());
  const { id } = await uploaded.json();
  const never = new AbortController().signal;
  const context = { signal: never, stopping: never };
  await createReconcile(year.app.service).run({ subject_id: id } as GatewayJob, context);
  return await (await year.get(`/reconciliations/${id}/`, staff)).json();
}

async function assertTotalsAgree(year: Year) {
  const { text, lines } = await readReports(year);
  const expected = reportTotals(lines);
  const exported = await readExport(year, "payments");
  assert.deepEqual(totalsOf(exported, { gross: "captured_amount" }), expected, "export");
  const refunds = await readExport(year, "refunds", "?status=succeeded");
  assert.equal(sumOf(refunds, "amount"), expected.refunded);

  for (const zone of ZONES) {
    for (const interval of ["day", "week", "month"]) {
      const rows = await readStats(year, `interval=${interval}&time_zone=${zone}`);
      const where = `${interval} ${zone}`;
      assert.deepEqual(totalsOf(rows, { gross: AMOUNT }), expected, where);
      assert.equal(sumOf(rows, "count"), exported.length, where);
    }
    await assertDays(year, exported, zone);
  }
  await assertReportedDays(year, lines);

  const transactions: Json[] = await year.sandbox.control("transactions", undefined, "GET");
  assert.equal(transactions.length, exported.length);
  for (const each of transactions) {
    const own = exported.find(({ transaction_id }) => transaction_id === each.transaction_id)!;
    assert.equal(own.transaction_status, each.transaction_status);
    assert.equal(Number(own.refund_amount), Number(each.refund_amount ?? 0));
    if (each.settlement_time) assert.equal(Number(own.captured_amount), Number(each.gross_amount));
    else assert.equal(own.captured_amount, "");
  }

  if (lines.length === 0) return;
  const { results, days } = await reconcile(year, text);
  assert.deepEqual(results, {
    matched: lines.length,
    amount_differs: 0,
    status_differs: 0,
    listed_twice: 0,
    missing_here: 0,
    missing_there: 0,
  });
  assert.equal(sumOf(days, AMOUNT), expected.net);
  for (const { date, gross_amount, fee, net_amount } of days) {
    const own = lines.filter((line) => line.date === date);
    assert.deepEqual(
      [Number(gross_amount), Number(fee), Number(net_amount)],
      [AMOUNT, "fee", "net_amount"].map((name) => sumOf(own, name)),
    );
  }
}

/** The gross amount of each day is that of the exported payments that were paid on that day. */
async function assertDays(year: Year, exported: Json[], timeZone: string) {
  const day = new Intl.DateTimeFormat("sv", { timeZone, dateStyle: "short" });
  const expected: Record<string, number> = {};
  for (const { paid_at, captured_amount } of exported) {
    if (captured_amount === "") continue;
    const date = day.format(new Date(paid_at));
    expected[date] = (expected[date] ?? 0) + Number(captured_amount);
  }
  const found = (await readStats(year, `time_zone=${timeZone}`))
    .filter(({ gross_amount }) => Number(gross_amount) > 0)
    .map(({ start, gross_amount }) => [day.format(new Date(start)), Number(gross_amount)]);
  assert.deepEqual(Object.fromEntries(found), expected, timeZone);
}

/**
 * On every day of Jakarta, the gateway's report has the refunds and chargebacks of the statistics.
 * It has the same settlements, too, except for cards, which are settled on the day after the
 * capture.
 */
async function assertReportedDays(year: Year, lines: Json[]) {
  const reported: Record<string, number> = {};
  for (const { date, type, payment_type, gross_amount } of lines) {
    if (type === "settlement" && payment_type === "credit_card") continue;
    const key = `${date} ${type}`;
    reported[key] = (reported[key] ?? 0) + Math.abs(Number(gross_amount));
  }
  const counted: Record<string, number> = {};
  for (const row of await readStats(year, "group_by=payment_type")) {
    const isCard = row.payment_type === "credit_card";
    const amounts = {
      settlement: isCard ? 0 : Number(row.gross_amount),
      refund: Number(row.refund_amount),
      chargeback: Number(row.chargeback_amount),
    };
    for (const [type, amount] of Object.entries(amounts).filter(([, amount]) => amount !== 0)) {
      const key = `${dayInWib(new Date(row.start))} ${type}`;
      counted[key] = (counted[key] ?? 0) + amount;
    }
  }
  assert.deepEqual(counted, reported);
}

Deno.test("totals: stats, exports and reconciliation agree with the gateway's reports of a year", async () => {
  await using year = await openYear();
  await seedYear(year, FIXED_PLANS);
  const { lines } = await readReports(year);
  const count = (type: string) => lines.filter((line) => line.type === type).length;
  assert.deepEqual([count("settlement"), count("refund"), count("chargeback")], [8, 4, 4]);
  await assertTotalsAgree(year);
});

Deno.test("totals: agree to the rupiah for any payments, refunds, chargebacks and captures around midnight", async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (planned) => {
      await using year = await openYear();
      await seedYear(year, planned);
      await assertTotalsAgree(year);
    }),
    { numRuns: 6 },
  );
});
