import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import {
  alterInvoices,
  DAY,
  type Invoice,
  openInvoices,
  readEventNames,
  type TestInvoices,
} from "../support/records/invoices.ts";

const databaseUrl = await createDatabase();

type Status = Invoice["status"];

/** The gateway's name of each state that it can report. */
const REPORTS = {
  draft: "draft",
  sent: "pending",
  partial: "partial",
  overdue: "overdue",
  paid: "paid",
  void: "voided",
} satisfies Partial<Record<Status, string>>;

type Reported = keyof typeof REPORTS;

/** The reports that change an invoice in each state. All other reports leave it unchanged. */
const NEXT: Record<Reported, Reported[]> = {
  draft: ["sent", "partial", "overdue", "paid", "void"],
  sent: ["partial", "overdue", "paid", "void"],
  partial: ["overdue", "paid", "void"],
  overdue: ["sent", "partial", "paid", "void"],
  void: ["paid"],
  paid: [],
};

const EVENTS: Partial<Record<Reported, string>> = { paid: "invoice_paid", void: "invoice_voided" };

function report(invoices: TestInvoices, status: Reported): void {
  alterInvoices(invoices, (answer) => ({ ...answer, status: REPORTS[status] }));
}

async function check({ get, find }: TestInvoices, { id }: Invoice): Promise<Invoice> {
  const response = await get(`/invoices/${id}/check_status/`);
  assert.equal(response.status, 200, await response.text());
  return await find(id);
}

const STATES = Object.keys(REPORTS) as Reported[];

for (const from of STATES) {
  Deno.test(`invoice in state ${from}: becomes ${NEXT[from].join(", ") || "nothing else"} if the gateway reports it, and ignores other reports`, async (t) => {
    await using invoices = await openInvoices({ databaseUrl });
    for (const to of STATES) {
      await t.step(`the gateway reports ${to}`, async () => {
        report(invoices, from);
        const invoice = await invoices.create();
        assert.equal(invoice.status, from);
        const before = await invoices.transitions(invoice.id);
        const events = await readEventNames(invoices, invoice);
        report(invoices, to);
        const checked = await check(invoices, invoice);
        const isChanged = NEXT[from].includes(to);
        assert.equal(checked.status, isChanged ? to : from);
        assert.equal(checked.paid_at !== null, checked.status === "paid");
        assert.deepEqual(
          (await invoices.transitions(invoice.id)).slice(before.length),
          isChanged ? [`${from}>${to} get_invoice_status`] : [],
        );
        const event = isChanged && EVENTS[to];
        assert.deepEqual(
          await readEventNames(invoices, invoice),
          event ? [...events, event] : events,
        );
      });
    }
  });
}

Deno.test("invoice past its due date: is overdue, although the gateway still reports it as pending", async () => {
  await using invoices = await openInvoices();
  report(invoices, "sent");
  const invoice = await invoices.create();
  await invoices.advance(4 * DAY);
  const { status, is_overdue } = await check(invoices, invoice);
  assert.deepEqual([status, is_overdue], ["overdue", true]);
});
