import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { updateStats } from "../../core/reports/count_payments.ts";
import {
  browserTest,
  openConsole,
  openLive,
  type Page,
  signInByPage,
} from "../support/console/browser.ts";
import { addOperations } from "../support/console/operations.ts";
import { compareReport } from "../support/console/reconciliations.ts";
import { runSql } from "../support/database/database.ts";
import { CHALLENGED_CARD } from "../support/gateway/sandbox.ts";
import { until } from "../support/until.ts";
import { invoiceRequest, parseInvoice } from "../support/records/requests.ts";

browserTest(
  "finds a payment by email, refunds a part, and shows a payment change without a reload",
  async () => {
    await using opened = await openConsole();
    const { payments, browser } = opened;
    const email = { customer_details: { first_name: "Siti", email: "siti@example.com" } };
    const paid = await payments.paid("gopay", email);
    const pending = await payments.charge("bca");
    const page = await browser.newPage();
    const requests: string[] = [];
    page.on("request", (request: Page) => requests.push(request.url()));
    const problems: string[] = [];
    page.on(
      "console",
      (message: Page) => message.type() === "error" && problems.push(message.text()),
    );
    await signInByPage(page, opened.url, await payments.app.createKey({ isStaff: true }));

    await page.getByRole("link", { name: "Payments", exact: true }).click();
    await page.getByRole("searchbox").fill("siti@example.com");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: paid.order_id }).click();
    await page.getByRole("link", { name: "Refund", exact: true }).click();
    await page.getByLabel("Amount to refund").fill("10000");
    await page.getByRole("button", { name: "Refund", exact: true }).click();
    await page.getByText("The refund was requested").waitFor();
    assert.equal((await payments.read(paid.id)).refund_amount, "10000.00");

    await page.goto(`${opened.url}/payments/${pending.id}/`);
    await page.getByText("Pending").first().waitFor();
    await payments.sandbox.control(`transactions/${pending.transaction_id}/pay`);
    await payments.refresh(pending.id);
    await page.locator(".status.settlement").waitFor();
    await page.getByText("Customer paid by BCA virtual account").waitFor();

    await page.getByRole("button", { name: "Bahasa Indonesia" }).click();
    await page.getByRole("heading", { name: "Linimasa" }).waitFor();
    await page.getByRole("button", { name: "Gelap" }).click();
    await page.locator('html[data-theme="dark"]').waitFor();
    await page.getByRole("button", { name: "Keluar" }).click();
    await page.getByRole("heading", { name: "Masuk" }).waitFor();
    await page.goBack();
    await page.reload();
    await page.getByRole("heading", { name: "Masuk" }).waitFor();
    assert.deepEqual(problems, []);
    assert.deepEqual(requests.filter((url) => !url.startsWith(new URL(opened.url).origin)), []);
  },
);

browserTest("the overview shows a new payment and its change without a reload", async () => {
  await using opened = await openConsole();
  const { payments, browser, signIn } = opened;
  await payments.paid("gopay");
  await updateStats(payments.app.service);
  const page = await browser.newPage();
  await signIn(page, await payments.app.createKey({ isStaff: true }));
  await openLive(page, `${opened.url}/`);
  await page.getByText("Show as a table").click();
  const pending = await payments.charge("bca");
  const row = page.getByRole("row").filter({ hasText: pending.order_id });
  await row.getByText("Pending").waitFor();
  assert.equal(await page.locator("#chart-table").getAttribute("open"), "", "stays open");
  await payments.sandbox.control(`transactions/${pending.transaction_id}/pay`);
  await payments.refresh(pending.id);
  await row.getByText("Paid").waitFor();
});

browserTest("live payments keep the filters that the user has not applied yet", async () => {
  await using opened = await openConsole();
  const { payments, browser, url, signIn } = opened;
  const page = await browser.newPage();
  await signIn(page, await payments.app.createKey({ isStaff: true }));
  await openLive(page, `${url}/payments/`);
  await page.getByText("Filters and columns").click();
  await page.getByLabel("GoPay").check();
  await page.getByLabel("Net", { exact: true }).check();
  await page.getByRole("heading", { name: "Payments" }).click();
  const paid = await payments.paid("gopay");
  await payments.charge("bca");
  await page.getByRole("link", { name: paid.order_id }).waitFor();
  assert.ok(await page.getByLabel("GoPay").isChecked());
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("columnheader", { name: "Net" }).waitFor();
  assert.equal(await page.locator("tbody tr").count(), 1);
  assert.match(page.url(), /payment_type=gopay/);
  assert.match(page.url(), /column=net/);
  await page.getByText("Export", { exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "CSV" }).click(),
  ]);
  assert.equal(download.suggestedFilename(), "payments.csv");
  const lines = (await Deno.readTextFile(await download.path())).trim().split("\r\n");
  assert.equal(lines.length, 2);
  assert.ok(lines[1]!.includes(paid.order_id));
});

browserTest("the form of an invoice adds lines and the total without a reload", async () => {
  await using opened = await openConsole();
  const { payments, browser, url, signIn } = opened;
  const page = await browser.newPage();
  await signIn(page, await payments.app.createKey({ isStaff: true }));
  await page.goto(`${url}/invoices/new/`);
  const total = page.locator("#total");
  await page.getByLabel("Name").fill("Budi");
  await page.locator("[name='items.0.description']").fill("Kopi");
  await page.locator("[name='items.0.price']").fill("Rp 75.000");
  await page.locator("[name='items.0.quantity']").fill("2");
  assert.equal(await total.textContent(), "Rp 150.000");
  await page.getByRole("button", { name: "Add a line" }).click();
  await page.locator("[name='items.1.description']").fill("Teh");
  await page.locator("[name='items.1.price']").fill("20000");
  await page.getByRole("button", { name: "Add a discount" }).click();
  await page.locator("[name='items.2.price']").fill("-10.000");
  assert.equal(await total.textContent(), "Rp 160.000");
  await page.locator("[name='items.2.price']").fill("10.000");
  assert.equal(await total.textContent(), "Rp 160.000", "a discount subtracts without a minus");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("invoice of Rp 160.000").waitFor();
});

browserTest(
  "a payment, its receipt, an invoice and a report are printed without menu, forms and buttons",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const paid = await payments.paid("gopay");
    const items = [{ description: "Coffee beans", price: 44_000, quantity: 1 }];
    const sent = await payments.post("/invoices/", invoiceRequest({ items }));
    const invoice = await parseInvoice(sent, 201);
    await updateStats(payments.app.service);
    const page = await browser.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    await page.emulateMedia({ media: "print" });
    // The width of A4 without its margins.
    await page.setViewportSize({ width: 680, height: 960 });
    const hidden = "nav, footer, .top, form, .button, .done, #actions, #link, #technical-timeline";
    const path = `payments/${paid.id}/`;
    const pages = [
      `${path}?done=checked`,
      `${path}receipt/`,
      `invoices/${invoice.id}/`,
      "reports/",
    ];
    for (const each of pages) {
      await page.goto(`${url}/${each}`);
      await page.getByText("Rp 44.000").first().waitFor();
      assert.equal(await page.locator(`:is(${hidden}):visible`).count(), 0);
      assert.equal(await page.getByText("Gateway answers").isVisible(), false);
    }
    assert.match(await page.locator("h1 + p").innerText(), /^\d.* \d{4} – \d.* \d{4} \(WIB\)$/);
    const isCut = `[...document.querySelectorAll(".dense .table")].some((each) =>
      each.scrollWidth > each.clientWidth)`;
    assert.equal(await page.evaluate(isCut), false);
  },
);

browserTest("on a narrow screen the navigation is a menu, also without scripts", async () => {
  await using opened = await openConsole();
  const { payments, browser, url, signIn } = opened;
  const viewport = { width: 390, height: 800 };
  const context = await browser.newContext({ viewport, javaScriptEnabled: false });
  const page = await context.newPage();
  await signIn(page, await payments.app.createKey({ isStaff: true }));
  await page.goto(`${url}/`);
  const link = page.getByRole("link", { name: "Refunds" });
  assert.equal(await link.isVisible(), false);
  await page.getByRole("button", { name: "Menu" }).click();
  await link.click();
  await page.getByRole("heading", { name: "Refunds" }).waitFor();
  assert.equal(await link.isVisible(), false);
});

browserTest(
  "uploads a report with progress, names its columns, and shows the differences",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const paid = await payments.paid("gopay");
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error: Error) => problems.push(error.message));
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    await page.goto(`${url}/reconciliations/`);
    const file = (text: string) => ({
      name: "report.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(text),
    });
    const lines = `${paid.order_id};43000;2026-03-05\n<b>x</b>;1000;2026-03-05\n`.repeat(1_200);
    await page.getByLabel("Report (CSV)").setInputFiles(file(`No;Nominal;Tanggal\n${lines}`));
    const upload = page.getByRole("button", { name: "Upload a report" });
    await upload.click();
    await page.getByText("name the column of").waitFor();
    // The form still has the file, and offers its headers.
    await page.getByText("Column names and options", { exact: true }).click();
    assert.deepEqual(
      await page.evaluate('[...document.querySelectorAll("#headers option")].map((o) => o.value)'),
      ["No", "Nominal", "Tanggal"],
    );
    await page.getByLabel("Order id").fill("No");
    await page.getByLabel("Amount", { exact: true }).fill("Nominal");
    await page.getByLabel("Time").fill("Tanggal");
    // A short upload would end before the test sees its progress.
    const progress = page.getByRole("progressbar");
    await page.route(`${url}/reconciliations/`, async (route: Page) => {
      await progress.waitFor();
      await route.continue();
    });
    await upload.click();
    await page.getByRole("heading", { name: "Comparing the report" }).waitFor();
    const [id] = page.url().match(/[0-9a-f-]{36}/);
    await compareReport(payments.app, id);
    // The page loads the result by itself.
    await page.getByText("Has differences").waitFor();
    await page.getByRole("link", { name: "Listed twice 1,199" }).click();
    await page.getByRole("link", { name: paid.order_id }).first().waitFor();
    await page.getByRole("button", { name: "Check at the gateway" }).first().click();
    await page.getByText(`Checked at the gateway. ${paid.order_id}: Paid, Rp 44.000.`).waitFor();
    assert.deepEqual(problems, []);
  },
);

browserTest(
  "creates an invoice by hand, copies its link, and a reload creates no second one",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const context = await browser.newContext({
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const page = await context.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    await page.goto(`${url}/`);
    await page.getByRole("link", { name: "Invoices" }).click();
    await page.getByText("No invoices were found").waitFor();
    await page.getByRole("link", { name: "Create an invoice" }).click();
    await page.getByLabel("Name").fill("Siti Utami");
    await page.getByLabel("Email").fill("siti@example.com");
    await page.getByLabel("Item", { exact: true }).first().fill("Coffee beans");
    await page.getByLabel("Price").first().fill("75.000");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Check the invoice" }).waitFor();
    await page.goBack();
    assert.equal(await page.getByLabel("Name").inputValue(), "Siti Utami");
    await page.getByLabel("Quantity").first().fill("2");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("invoice of Rp 150.000").waitFor();
    await page.getByRole("button", { name: "Create an invoice" }).dblclick();
    await page.getByText("The invoice was created").waitFor();
    const link = await page.locator("#payment-link").textContent();
    // Before the script is loaded a click does nothing, and an update of the page by an event
    // brings the first label back.
    await until("the button says that the link is copied", async () => {
      await page.getByRole("button", { name: /^(Copy the link|Copied)$/ }).click();
      return await page.getByRole("button", { name: "Copied" }).isVisible();
    });
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), link);

    await page.reload();
    await page.goto(`${url}/invoices/`);
    await page.goBack();
    await page.getByText("The invoice was created").waitFor();
    await page.goForward();
    assert.equal(await page.getByRole("link", { name: /^INV-/ }).count(), 1);

    await page.getByRole("link", { name: /^INV-/ }).click();
    await page.getByRole("link", { name: "Void the invoice" }).click();
    await page.getByText("Siti Utami can no longer pay Rp 150.000").waitFor();
    await page.getByRole("button", { name: "Void the invoice" }).dblclick();
    await page.getByText("The invoice is void").waitFor();
    await context.close();
  },
);

browserTest(
  "follows events live, sends a webhook again, replays a notification, and a double click adds one endpoint",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const [eventPath, , , , , notificationPath] = await addOperations(payments);
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error: Error) => problems.push(String(error)));
    await signIn(page, await payments.app.createKey({ isStaff: true }));

    await Promise.all([page.waitForResponse(/\/live\//), page.goto(`${url}/events/`)]);
    await page.getByText("Event: Any").click();
    await page.getByLabel("payment_received").check();
    await page.getByRole("heading", { name: "Events" }).click();
    const { order_id } = await payments.charge("bca");
    await page.getByRole("link", { name: order_id }).waitFor();
    assert.ok(await page.getByLabel("payment_received").isChecked(), "the filter is kept");

    await page.goto(`${url}/${eventPath}/`);
    await page.getByText("502").first().waitFor();
    await page.getByRole("button", { name: "Send again" }).click();
    await page.getByText("The webhook is sent again").waitFor();
    await page.getByText("Waiting").first().waitFor();

    await page.goto(`${url}/${notificationPath}/`);
    await page.getByText("Not confirmed").waitFor();
    await page.getByRole("button", { name: "Process again" }).click();
    await page.getByText("was processed again").waitFor();
    await page.getByText("Nothing new").waitFor();

    await page.goto(`${url}/webhooks/new/`);
    await page.getByLabel("URL").fill("https://other.example/hooks");
    await page.getByRole("button", { name: "Add an endpoint" }).dblclick();
    await page.getByText(/whsec_/).waitFor();
    const rows = await runSql(
      payments.databaseUrl,
      "select url from gateway.webhook_endpoints where url = 'https://other.example/hooks'",
    );
    assert.equal(rows.length, 1);
    assert.deepEqual(problems, []);
  },
);

browserTest(
  "the overview leads to a challenged card payment, which is approved by a click",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const token_id = await payments.sandbox.token(CHALLENGED_CARD);
    const payment = await payments.charge("card", { token_id });
    const page = await browser.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    await page.goto(`${url}/`);
    await page.getByRole("link", { name: "Card payments to review" }).click();
    await page.getByRole("link", { name: payment.order_id }).click();
    await page.getByText("Needs a review").first().waitFor();
    await page.getByRole("link", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("The payment is approved").waitFor();
    assert.equal((await payments.read(payment.id)).is_paid, true);
  },
);
