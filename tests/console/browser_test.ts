import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { updateStats } from "../../core/reports/count_payments.ts";
import { BROWSER, openConsole, openLive, type Page } from "../support/console/browser.ts";
import { compareReport } from "../support/console/reconciliations.ts";
import { addOperations } from "../support/console/operations.ts";
import { type TestPayments } from "../support/payments/payments.ts";
import {
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  subscriptionRequest,
} from "../support/records/requests.ts";
import { AXE } from "../support/tools.ts";

/** A folder for screenshots; none are taken if it is not set. */
const SCREENSHOTS = Deno.env.get("SCREENSHOT_DIR");

const SCREENS = [
  { width: 390, height: 800, colorScheme: "dark" },
  { width: 1280, height: 900, colorScheme: "light" },
  { width: 2560, height: 1300, colorScheme: "dark" },
] as const;

Deno.test({
  name:
    "console in a browser: finds a payment by email, refunds a part, and shows a payment change without a reload",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, signIn } = opened;
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
    await signIn(page, await payments.app.createKey({ isStaff: true }));

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
    await page.getByText("payment_settled").waitFor();

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
});

Deno.test({
  name: "console in a browser: the overview shows a new payment and its change without a reload",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, signIn } = opened;
    await payments.paid("gopay");
    await updateStats(payments.app.deps);
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
  },
});

Deno.test({
  name: "console in a browser: live payments keep the filters that the user has not applied yet",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const page = await browser.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    await openLive(page, `${url}/payments/`);
    await page.getByText("Filters and columns").click();
    await page.getByLabel("GoPay").check();
    await page.getByLabel("Net").check();
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
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export as CSV" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "payments.csv");
    const lines = (await Deno.readTextFile(await download.path())).trim().split("\r\n");
    assert.equal(lines.length, 2);
    assert.ok(lines[1]!.includes(paid.order_id));
  },
});

Deno.test({
  name: "console in a browser: on a narrow screen the navigation is a menu, also without scripts",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, signIn } = opened;
    const viewport = { width: 390, height: 800 };
    const context = await browser.newContext({ viewport, javaScriptEnabled: false });
    const page = await context.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    const link = page.getByRole("link", { name: "Refunds" });
    assert.equal(await link.isVisible(), false);
    await page.getByRole("button", { name: "Menu" }).click();
    await link.click();
    await page.getByRole("heading", { name: "Refunds" }).waitFor();
    assert.equal(await link.isVisible(), false);
  },
});

Deno.test({
  name:
    "console in a browser: uploads a report with progress, names its columns, and shows the differences",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
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
    const lines = `${paid.order_id};43000;2026-03-05\n<b>x</b>;1000;2026-03-05\n`.repeat(20_000);
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
    const progress = page.getByRole("progressbar");
    await Promise.all([progress.waitFor(), upload.click()]);
    await page.getByRole("heading", { name: "Comparing the report" }).waitFor();
    const [id] = page.url().match(/[0-9a-f-]{36}/);
    await compareReport(payments.app, id);
    // The page loads the result by itself.
    await page.getByText("Has differences").waitFor();
    await page.getByRole("link", { name: "Listed twice 19,999" }).click();
    await page.getByRole("link", { name: paid.order_id }).first().waitFor();
    await page.getByRole("button", { name: "Check at the gateway" }).first().click();
    await page.getByText(`Checked at the gateway. ${paid.order_id}: Paid, Rp 44.000.`).waitFor();
    assert.deepEqual(problems, []);
  },
});

const PAGES = [
  "",
  "payments",
  "refunds",
  "invoices",
  "invoices/new",
  "subscriptions",
  "notifications",
  "webhooks",
  "jobs",
  "keys",
  "sessions",
  "events",
  "audit",
  "status",
  "reports",
  "reconciliations",
];

Deno.test({
  name: "console in a browser: every page is accessible and fits on narrow and wide screens",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const { source } = (await import(AXE)).default;
    const payment = await payments.paid("gopay");
    await payments.paid("bca");
    await updateStats(payments.app.deps);
    const operations = await addOperations(payments);
    const key = await payments.app.createKey({ isStaff: true });
    const reports = [`${payment.order_id},43000,2026-03-05`, "A-1,1000,2026-03-06"];
    const [compared, queued] = await Promise.all(reports.map(async (line) => {
      const response = await payments.app.as(key, "/reconciliations/", {
        method: "POST",
        body: `order_id,amount,time\n${line}\n`,
        headers: { "Content-Type": "text/csv" },
      });
      return (await response.json()).id as string;
    }));
    await compareReport(payments.app, compared!);
    const { invoice, subscription } = await createRecords(payments);
    const pages = [
      ...PAGES,
      `payments/${payment.id}`,
      `payments/${payment.id}/refund`,
      `payments/${payment.id}/gateway`,
      `invoices/${invoice}`,
      `invoices/${invoice}/void`,
      `subscriptions/${subscription}`,
      `subscriptions/${subscription}/cancel`,
      `reconciliations/${compared}`,
      `reconciliations/${queued}`,
    ];
    const page = await browser.newPage();
    await signIn(page, key);
    // A page that connects to the events loads itself again; it must stay as it is during the
    // check.
    await page.route(/\/live\//, () => {});
    for (const path of [...pages, ...operations]) {
      await page.goto(path === "" ? `${url}/` : `${url}/${path}/`);
      // Not a script element: the content security policy of the page would refuse that.
      await page.evaluate(source);
      for (const { width, height, colorScheme } of SCREENS) {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme });
        if (SCREENSHOTS) await takeScreenshot(page, path, width);
        await page.evaluate(openDetails);
        const isTooWide = await page.evaluate(
          "document.documentElement.scrollWidth > document.documentElement.clientWidth",
        );
        assert.ok(!isTooWide, `${path} is wider than ${width} px`);
        assert.deepEqual(await checkAccessibility(page), [], `${path} at ${width} px`);
        await page.evaluate(closeDetails);
      }
    }
  },
});

const openDetails = `globalThis.opened = document.querySelectorAll("main details:not([open])");
  for (const each of opened) each.open = true;`;
const closeDetails = "for (const each of opened) each.open = false;";

async function takeScreenshot(page: Page, path: string, width: number): Promise<void> {
  const name = path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "one").replaceAll("/", "_") || "overview";
  await page.screenshot({ path: `${SCREENSHOTS}/console_${name}_${width}.png`, fullPage: true });
}

/** An invoice with two items, others for the list, and a subscription; their ids. */
async function createRecords(payments: TestPayments) {
  const items = [
    { description: "Coffee beans, 1 kg", price: 75_000, quantity: 2 },
    { description: "Delivery", price: 10_000, quantity: 1 },
  ];
  const ids: string[] = [];
  for (const customer_name of ["Budi Utomo", "Siti Utami", "Toko Maju Jaya"]) {
    const request = invoiceRequest({ customer_name, items, notes: "Thank you.\nSee you soon." });
    const sent = await payments.post("/invoices/", request);
    ids.push((await parseInvoice(sent, 201)).id);
  }
  await payments.post(`/invoices/${ids[1]}/void/`, { reason: "Ordered twice" });
  const customer_details = { first_name: "Budi", email: "budi@example.com" };
  const request = await subscriptionRequest(payments.sandbox, {
    name: "coffee-club",
    customer_details,
  });
  const created = await payments.post("/subscriptions/", request);
  return { invoice: ids[0]!, subscription: (await parseSubscription(created, 201)).id };
}

Deno.test({
  name:
    "console in a browser: creates an invoice by hand, copies its link, and a reload creates no second one",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const context = await browser.newContext({
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const page = await context.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
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
    await page.getByRole("button", { name: "Copy the link" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
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
});

/** Problems by the rules of WCAG 2.2 AA. The page has loaded axe. */
async function checkAccessibility(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate(
    `axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      resultTypes: ["violations"],
    })`,
  );
  return violations.map((each: Page) => `${each.id}: ${each.nodes[0].html} ${each.help}`);
}
