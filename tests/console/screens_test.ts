import assert from "node:assert/strict";
import { updateStats } from "../../core/reports/count_payments.ts";
import { checkAccessibility, loadAxe } from "../support/accessibility.ts";
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

const LANGUAGES = ["en", "id"];

/**
 * Without `--full` pages take turns, because a language hardly changes what the rules find. The
 * reports have the longest titles of amounts.
 */
function languagesOf(path: string, index: number): string[] {
  return isPartial && path !== "reports"
    ? [LANGUAGES[Math.floor(index / SCREENS.length) % LANGUAGES.length]!]
    : LANGUAGES;
}

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
  const source = await loadAxe();
  const payment = await createRefunded(payments);
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
  await payments.app.database.query((sql) =>
    sql`update gateway.payments set invoice_id = ${invoice} where id = ${payment.id}`
  );
  const checkout = await createCheckouts(payments);
  const pages = [
    ...PAGES,
    `payments/${checkout.payment}`,
    `payments/${payment.id}`,
    `payments/${payment.id}/refund`,
    `payments/${payment.id}/gateway`,
    `payments/${payment.id}/receipt`,
    `customers/?email=${EMAIL}`,
    `checkouts/${checkout.open}`,
    `checkouts/${checkout.paid}`,
    `checkouts/${checkout.open}/cancel`,
    `invoices/${invoice}`,
    `invoices/${invoice}/void`,
    `subscriptions/${subscription}`,
    `subscriptions/${subscription}/cancel`,
    `reconciliations/${queued}`,
    `reconciliations/${compared}`,
  ];
  const problems: string[] = [];
  const page = await browser.newPage();
  await signIn(page, key);
  // A page that connects to the events loads itself again; it must stay as it is during the
  // check.
  await page.route(/\/live\//, () => {});
  const visits = [...pages, ...operations]
    .filter((path, index) => !isPartial || path === "reports" || index % 4 === 0)
    .flatMap((path, index) => languagesOf(path, index).map((language) => ({ path, language })));
  for (const [index, { path, language }] of visits.entries()) {
    await page.setExtraHTTPHeaders({ "Accept-Language": language });
    await page.goto(path === "" || path.includes("?") ? `${url}/${path}` : `${url}/${path}/`);
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
      assert.deepEqual(await page.evaluate(misalignedColumns), [], path);
      const cut = await page.evaluate(cutTables) as string[];
      problems.push(...cut.map((each) => `${path} at ${width} px in ${language}: ${each}`));
      if (width < 400) {
        assert.deepEqual(await page.evaluate(brokenWords), [], `${path} at ${width} px`);
        assert.deepEqual(await page.evaluate(hiddenControls), [], `${path} at ${width} px`);
        const covering = await page.evaluate(coveringLabels);
        assert.deepEqual(covering, [], `${path} at ${width} px in ${language}`);
        if (path === "payments" && language === "en") {
          assert.deepEqual(await page.evaluate(firstCard), PAYMENT_CARD);
        }
      }
      if (!isPartial || index % SCREENS.length === number) {
        const found = await checkAccessibility(page);
        problems.push(...found.map((each) => `${path} at ${width} px in ${language}: ${each}`));
      }
      await page.evaluate(closeDetails);
    }
  }
  assert.deepEqual(problems, []);
});

const openDetails = `globalThis.opened = document.querySelectorAll("main details:not([open])");
  for (const each of opened) each.open = true;`;
/** The titles of columns with numbers that are not at the right like the numbers. */
const misalignedColumns = `[...document.querySelectorAll("main tbody td.amount")].map((cell) =>
    cell.closest("table").tHead.rows[0].cells[cell.cellIndex])
  .filter((title) => getComputedStyle(title).textAlign !== "right").map((each) => each.innerText)`;
/** Tables whose last columns are visible only after scrolling; those of charts may be wide. */
const cutTables = `[...document.querySelectorAll("main .table")].filter((each) =>
  each.scrollWidth > each.clientWidth + 1 && !each.closest(".folded"))
  .map((each) => each.ariaLabel + ": " + each.clientWidth + " of " + each.scrollWidth + " px")`;
/** The labels in cards that cover a part of their value. */
const coveringLabels =
  `[...document.querySelectorAll("main .cards td[data-label]")].filter((cell) => {
  const { content, font, width, whiteSpace } = getComputedStyle(cell, "::before");
  if (content === "none") return false;
  const copy = document.createElement("div");
  copy.textContent = cell.dataset.label;
  Object.assign(copy.style, { position: "absolute", font, width, whiteSpace });
  cell.append(copy);
  const covers = copy.scrollWidth > copy.clientWidth;
  copy.remove();
  return covers;
}).map((cell) => cell.dataset.label)`;

/**
 * Words of letters that continue on the next line, also those of an email address. Ids and web
 * addresses may be broken.
 */
const brokenWords = `(() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.parentElement.closest("code, pre, svg, option, .skip")) continue;
    const words = text.data.includes("@") ? /\\p{L}{2,}/gu : /(?<!\\S)\\p{L}{2,}(?!\\S)/gu;
    for (const { 0: word, index } of text.data.matchAll(words)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) broken.push(word);
    }
  }
  return broken;
})()`;
/** Buttons and links of a list or a form that a finger cannot reach. */
const hiddenControls =
  `[...document.querySelectorAll("main button, main .button")].filter((each) => {
  const { left, right, width } = each.getBoundingClientRect();
  return width > 0 && (left < 0 || right > innerWidth);
}).map((each) => each.innerText)`;
/** The titles and values of the first card of the list of payments. */
const firstCard = `[...document.querySelector("main .cards tbody tr").cells].map((cell) =>
  getComputedStyle(cell, "::before").content.replaceAll('"', "") + ": " +
  getComputedStyle(cell).display)`;
const PAYMENT_CARD = ["Amount", "Status", "Order", "Customer", "Method", "Created"]
  .map((title) => `${title}: flow-root`);
const closeDetails = "for (const each of opened) each.open = false;";

async function takeScreenshot(page: Page, path: string, width: number): Promise<void> {
  const name = path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "one").replaceAll(/[/?@]/g, "_") ||
    "overview";
  await page.screenshot({ path: `${SCREENSHOTS}/console_${name}_${width}.png`, fullPage: true });
}

/** Too long for one line on a phone. */
const EMAIL = "hendra.wijaya.kusuma54@example.com";

/** A paid payment of two items, with refunds whose reasons are long. */
async function createRefunded(payments: TestPayments) {
  const payment = await payments.paid("gopay", {
    customer_details: { first_name: "Hendra", last_name: "Wijaya", email: EMAIL },
    item_details: [{ name: "Kopi Gayo arabika, biji sangrai 1 kg", price: 22_000, quantity: 2 }],
  });
  for (const reason of ["The parcel arrived late and the box was open", "Damaged"]) {
    await payments.post(`/payments/${payment.id}/refund/`, { amount: 10_000, reason });
  }
  return payment;
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
  const customer_details = { first_name: "Hendra", email: EMAIL };
  const request = await subscriptionRequest(payments.sandbox, {
    name: "coffee-club",
    customer_details,
  });
  const created = await payments.post("/subscriptions/", request);
  return { invoice: ids[0]!, subscription: (await parseSubscription(created, 201)).id };
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
