import assert from "node:assert/strict";
import { updateStats } from "../../core/reports/count_payments.ts";
import { PUBLIC_URL, withCheckouts } from "../support/checkouts/checkouts.ts";
import { BROWSER, browserTest, openConsole, type Page } from "../support/console/browser.ts";
import { addOperations } from "../support/console/operations.ts";
import { compareReport } from "../support/console/reconciliations.ts";
import type { TestPayments } from "../support/payments/payments.ts";
import {
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  subscriptionRequest,
} from "../support/records/requests.ts";
import { isPartial } from "../support/share.ts";
import { AXE } from "../support/tools.ts";

/** A folder for screenshots; none are taken if it is not set. */
const SCREENSHOTS = Deno.env.get("SCREENSHOT_DIR");

const NARROW_AND_WIDE = [
  { width: 390, height: 800, colorScheme: "dark" },
  { width: 1280, height: 900, colorScheme: "light" },
] as const;

const VERY_WIDE = { width: 2560, height: 1300, colorScheme: "dark" } as const;

/**
 * Every page must fit on each of them. The rules of accessibility are checked on one of them, with
 * `--full` on each: hardly a rule depends on the width, and their check takes longest.
 */
const SCREENS = isPartial ? NARROW_AND_WIDE : [...NARROW_AND_WIDE, VERY_WIDE];

const PAGES = [
  "",
  "payments",
  "refunds",
  "checkouts",
  "checkouts/new",
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

browserTest("every page is accessible and fits on narrow and wide screens", async () => {
  await using opened = await openConsole({ env: { PUBLIC_URL } });
  const { payments, browser, url, signIn } = opened;
  const { source } = (await import(AXE)).default;
  const payment = await payments.paid("gopay");
  await payments.paid("bca");
  await updateStats(payments.app.service);
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
  const checkout = await createCheckouts(payments);
  const pages = [
    ...PAGES,
    `payments/${payment.id}`,
    `payments/${payment.id}/refund`,
    `payments/${payment.id}/gateway`,
    `checkouts/${checkout.open}`,
    `checkouts/${checkout.paid}`,
    `checkouts/${checkout.open}/cancel`,
    `payments/${checkout.payment}`,
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
  for (const [index, path] of [...pages, ...operations].entries()) {
    await page.goto(path === "" ? `${url}/` : `${url}/${path}/`);
    // Not a script element: the content security policy of the page would refuse that.
    await page.evaluate(source);
    for (const [number, { width, height, colorScheme }] of SCREENS.entries()) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      if (SCREENSHOTS) await takeScreenshot(page, path, width);
      await page.evaluate(openDetails);
      const isTooWide = await page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth",
      );
      assert.ok(!isTooWide, `${path} is wider than ${width} px`);
      if (!isPartial || index % SCREENS.length === number) {
        assert.deepEqual(await checkAccessibility(page), [], `${path} at ${width} px`);
      }
      await page.evaluate(closeDetails);
    }
  }
});

const openDetails = `globalThis.opened = document.querySelectorAll("main details:not([open])");
  for (const each of opened) each.open = true;`;
const closeDetails = "for (const each of opened) each.open = false;";

async function takeScreenshot(page: Page, path: string, width: number): Promise<void> {
  const name = path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "one").replaceAll("/", "_") || "overview";
  await page.screenshot({ path: `${SCREENSHOTS}/console_${name}_${width}.png`, fullPage: true });
}

/** A checkout that was paid twice and late, and an open one; their ids. */
async function createCheckouts(payments: TestPayments) {
  const checkouts = withCheckouts(payments);
  const paid = await checkouts.create({ order_id: "order-1893", metadata: { cart: "c-1893" } });
  await checkouts.choose(paid, "bca_va");
  await checkouts.choose(paid, "gopay");
  const [extra, payment] = await checkouts.paymentsOf(paid);
  await payments.app.database.query((sql) =>
    sql`update gateway.checkouts set status = 'paid', is_late = true, ended_at = now(),
      payment_id = ${payment!.id}, extra_payment_id = ${extra!.id} where id = ${paid.id}`
  );
  const open = await checkouts.create({
    order_id: "order-1894",
    enabled_payments: ["qris", "gopay", "bca_va", "indomaret"],
    finish_url: "https://shop.example/thanks",
  });
  await checkouts.choose(open, "bca_va");
  return { paid: paid.id, open: open.id, payment: payment!.id };
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

const CUSTOMERS = ["siti@example.com", "budi@example.com", "dewi@example.com"];

// To renew the pictures, run it with `--filter pictures` and `SCREENSHOT_DIR=docs/pictures`.
Deno.test({
  name: "console in a browser: takes the pictures of the guide",
  ignore: BROWSER === null || SCREENSHOTS === undefined,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    for (const [index, email] of CUSTOMERS.entries()) {
      const details = {
        order_id: `order-${1890 + index}`,
        customer_details: { first_name: "Siti", last_name: "Utami", email },
        item_details: [{ name: "Coffee beans, 1 kg", price: 44_000, quantity: 1 }],
      };
      if (index === 0) await payments.charge("bca", details);
      else await payments.paid("gopay", details);
    }
    const refunded = await payments.paid("gopay", { order_id: "order-1893" });
    await payments.post(`/payments/${refunded.id}/refund/`, { amount: 10_000, reason: "Late" });
    const [event] = await addOperations(payments);
    await updateStats(payments.app.service);
    const viewport = { width: 1040, height: 540 };
    const context = await browser.newContext({ viewport, colorScheme: "light" });
    const page = await context.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    const pictures = {
      overview: "",
      payment: `payments/${refunded.id}/`,
      event: `${event}/`,
    };
    for (const [name, path] of Object.entries(pictures)) {
      await page.goto(`${url}/${path}`);
      // Without the navigation, which changes with every new page.
      const clip = await page.locator("main").boundingBox();
      const height = Math.min(clip.height, viewport.height - clip.y);
      await page.screenshot({
        path: `${SCREENSHOTS}/console-${name}.png`,
        clip: { ...clip, height },
      });
    }
  },
});
