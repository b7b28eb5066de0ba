import assert from "node:assert/strict";
import { checkCheckouts } from "../../core/checkouts/settle_checkout.ts";
import { CheckoutSchema } from "../../core/checkouts/schema.ts";
import { SERVER_KEY } from "../support/crash/installation.ts";
import { callService } from "../support/client.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { createDatabase } from "../support/database/database.ts";
import { freePort } from "../support/free_port.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { closePages } from "../support/browser.ts";
import { type Page, payBrowserTest, sharedBrowser } from "../support/pay/browser.ts";
import {
  chooseOnPage,
  notify,
  openDevice,
  openPayService,
  ORDER,
  visitLive,
  waitForScreen,
} from "../support/pay/service.ts";

const DAY_SECONDS = 24 * 60 * 60;

const KEY = `gk_${"a".repeat(43)}`;

payBrowserTest("a checkout that expires while its page is open shows a way on", async () => {
  const { now, advance } = manualClock();
  await using service = await openPayService({ now });
  const { app, sandbox } = service;
  const [chosen, unchosen] = [await service.create(ORDER), await service.create(ORDER)];
  const pages = [await visitLive(chosen), await visitLive(unchosen)];
  await chooseOnPage(pages[0], "bca_va");
  advance((DAY_SECONDS + 1) * 1_000);
  await sandbox.advance(DAY_SECONDS + 1);
  await checkCheckouts(app.service);
  await runDueJobs(app);
  for (const page of pages) {
    await waitForScreen(page, "expired");
    await page.getByRole("heading", { name: "The time to pay has run out" }).waitFor();
    const back = page.getByRole("link", { name: "Back to Kopi Nusantara" });
    assert.equal(await back.getAttribute("href"), ORDER.cancel_url);
    assert.equal(await page.locator("form").count(), 0);
  }
});

payBrowserTest(
  "a page that is open during a restart of the service shows the payment made meanwhile",
  async () => {
    await using resources = new AsyncDisposableStack();
    const sandbox = resources.use(await openSandbox({ serverKey: SERVER_KEY }));
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    notify(sandbox, url);
    const settings = {
      HOST: "127.0.0.1",
      PORT: String(port),
      DATABASE_URL: await createDatabase(),
      GATEWAY_BASE_URL: sandbox.url,
      GATEWAY_SERVER_KEY: SERVER_KEY,
      PUBLIC_URL: url,
      BOOTSTRAP_STAFF_KEY: KEY,
    };
    const first = await startUntilUp(settings);
    resources.defer(() => closePages(sharedBrowser));
    const response = await callService(`${url}/checkouts/`, {
      method: "POST",
      headers: { "Authorization": `Bearer ${KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify(ORDER),
    });
    assert.equal(response.status, 201, await response.clone().text());
    const { checkout_url, order_id } = CheckoutSchema.parse(await response.json());
    const page = await openDevice();
    await page.goto(checkout_url);
    await chooseOnPage(page, "permata_va");
    await first[Symbol.asyncDispose]();
    await sandbox.control(`transactions/${order_id}/pay`);
    await page.getByRole("link", { name: "I have paid" }).click();
    await page.getByText("No connection.").waitFor();
    resources.use(await startUntilUp(settings));
    // The gateway repeats its notification.
    await sandbox.advance(600);
    await waitForScreen(page, "paid");
  },
);

payBrowserTest("without scripts, a method can be chosen, changed and paid", async () => {
  await using service = await openPayService();
  const checkout = await service.create(ORDER);
  const page = await service.visit(checkout, { javaScriptEnabled: false });
  await chooseOnPage(page, "bni_va");
  await page.getByRole("button", { name: "Choose another way to pay" }).click();
  await waitForScreen(page, "choose");
  await chooseOnPage(page, "ovo");
  assert.equal(await page.locator(".needs-script:visible").count(), 0);
  await page.getByRole("link", { name: "I have paid" }).click();
  await waitForScreen(page, "instructions");
  await service.pay(checkout);
  await service.sandbox.waitForWebhooks();
  await page.getByRole("link", { name: "I have paid" }).click();
  await waitForScreen(page, "paid");
  const back = page.getByRole("link", { name: "Back to Kopi Nusantara" });
  assert.match(await back.getAttribute("href"), /checkout_id=/);
});

payBrowserTest(
  "a method can be chosen and paid by keyboard alone, with a visible focus",
  async () => {
    await using service = await openPayService();
    const checkout = await service.create(ORDER);
    const page = await visitLive(checkout, { width: 1280 });
    await tabTo(page, 'button[value="bca_va"]');
    await page.keyboard.press("Enter");
    await waitForScreen(page, "instructions");
    await tabTo(page, "#guide-atm summary");
    await page.keyboard.press("Space");
    await page.locator("#guide-atm[open]").waitFor();
    await tabTo(page, "form.change button");
    await page.keyboard.press("Enter");
    await waitForScreen(page, "choose");
    await tabTo(page, "#ovo summary");
    await page.keyboard.press("Enter");
    await tabTo(page, "#phone");
    await page.keyboard.type("081234567890");
    await page.keyboard.press("Enter");
    await waitForScreen(page, "instructions");
    await tabTo(page, "[data-check]");
    await page.keyboard.press("Enter");
    await page.getByText("No payment yet.").waitFor();
    await service.pay(checkout);
    await waitForScreen(page, "paid");
    await tabTo(page, ".outcome a.button");
    await page.route("https://shop.example/**", (route: Page) => route.fulfill({ body: "Thanks" }));
    await page.keyboard.press("Enter");
    await page.waitForURL(/shop\.example/);
  },
);

/** Presses Tab until the element has the focus, which must be visible all the way. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    const { isTarget, isVisible, html } = await page.evaluate(`(() => {
      const { activeElement: active, body } = document;
      const { outlineStyle, outlineWidth } = getComputedStyle(active);
      const hasOutline = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
      const { width, height } = active.getBoundingClientRect();
      return {
        isTarget: active.matches(${JSON.stringify(selector)}),
        isVisible: active === body || hasOutline && width > 1 && height > 1,
        html: active.outerHTML.slice(0, 100),
      };
    })()`);
    assert.ok(isVisible, `the focus on ${html} is not visible`);
    if (isTarget) return;
  }
  assert.fail(`${selector} cannot be reached`);
}
