import assert from "node:assert/strict";
import { checkCheckouts } from "../../core/checkouts/settle_checkout.ts";
import { CARDS, confirmCode, enterCard } from "../support/gateway/snap.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { payBrowserTest } from "../support/pay/browser.ts";
import { comeBack, followToForm, openCardForm } from "../support/pay/cards.ts";
import {
  changeOnPage,
  chooseOnPage,
  openDevice,
  openPayService,
  ORDER,
  waitForScreen,
} from "../support/pay/service.ts";

payBrowserTest(
  "if the account allows no second card, a denied card leads back to the choice",
  async () => {
    await using service = await openPayService();
    const { sandbox } = service;
    await sandbox.call("PATCH", "/snap/v3/merchant-preferences", { allow_retry: false });
    const checkout = await service.create(ORDER);
    const page = await openCardForm(checkout);
    await enterCard(page, CARDS.denied);
    await confirmCode(page);
    await waitForScreen(page, "choose");
    await page.getByText("The card payment didn’t go through.").waitFor();
    await chooseOnPage(page, "credit_card");
    await followToForm(page);
    await enterCard(page, CARDS.accepted);
    await confirmCode(page);
    await waitForScreen(page, "paid");
    const { attempts } = await service.readCheckout(checkout.id);
    assert.deepEqual(attempts.map(({ status }) => status), ["closed", "paid"]);
  },
);

payBrowserTest(
  "a failed 3-D Secure is shown as a card payment that did not go through",
  async () => {
    await using service = await openPayService();
    const checkout = await service.create(ORDER);
    const page = await openCardForm(checkout);
    await enterCard(page, CARDS.accepted);
    await page.getByRole("button", { name: "Fail authentication" }).click();
    await page.getByRole("alert").waitFor();
    await comeBack(page, checkout, "card");
    await page.getByText("The card payment didn’t go through.").waitFor();
    await page.getByRole("link", { name: "Try again with a card" }).waitFor();
  },
);

payBrowserTest(
  "an abandoned 3-D Secure can be continued, and after it expires another method can be chosen",
  async () => {
    const { now, advance } = manualClock();
    await using service = await openPayService({ now });
    const checkout = await service.create(ORDER);
    const page = await openCardForm(checkout);
    await enterCard(page, CARDS.accepted);
    await page.getByLabel("One-time password").waitFor();
    await service.sandbox.waitForWebhooks();
    await comeBack(page, checkout, "card");
    await page.getByText("Your bank is verifying the card.").waitFor();
    await page.locator("#page a.button.main").click();
    await page.getByRole("link", { name: "Continue to the bank" }).waitFor();
    await comeBack(page, checkout, "card");
    await page.locator("form.change button").click();
    await waitForScreen(page, "waiting");
    advance(20 * 60_000);
    await service.sandbox.advance(20 * 60);
    await service.sandbox.waitForWebhooks();
    await checkCheckouts(service.app.service);
    await runDueJobs(service.app);
    await comeBack(page, checkout, "choose");
    await chooseOnPage(page, "qris");
  },
);

payBrowserTest("after the page for cards expires, the customer can choose again", async () => {
  const { now, advance } = manualClock();
  await using service = await openPayService({ now });
  const checkout = await service.create(ORDER);
  const page = await openCardForm(checkout);
  advance(32 * 60_000);
  await service.sandbox.advance(32 * 60);
  await enterCard(page, CARDS.accepted);
  await page.getByRole("heading", { name: "This page has expired" }).waitFor();
  await checkCheckouts(service.app.service);
  await runDueJobs(service.app);
  await comeBack(page, checkout, "choose");
  await page.getByText("The time to pay by card has run out.").waitFor();
  await chooseOnPage(page, "credit_card");
  await followToForm(page);
});

payBrowserTest(
  "after a change to QRIS, a page for cards that is open elsewhere cannot be paid",
  async () => {
    await using service = await openPayService();
    const checkout = await service.create(ORDER);
    const form = await openCardForm(checkout);
    const other = await openDevice();
    await other.goto(`${checkout.checkout_url}?lang=en`);
    await changeOnPage(other);
    await other.getByText("Your card payment was closed.").waitFor();
    await chooseOnPage(other, "qris");
    await enterCard(form, CARDS.accepted);
    await form.getByRole("heading", { name: "Payment cancelled" }).waitFor();
    await service.pay(checkout);
    await waitForScreen(other, "paid");
    await comeBack(form, checkout, "paid");
  },
);

payBrowserTest("two tabs with the page for cards make one payment, and both show it", async () => {
  await using service = await openPayService();
  const checkout = await service.create(ORDER);
  const first = await openCardForm(checkout);
  const second = await openDevice();
  await second.goto(`${checkout.checkout_url}?lang=en`);
  await followToForm(second);
  await enterCard(first, CARDS.accepted);
  await confirmCode(first);
  await waitForScreen(first, "paid");
  await enterCard(second, CARDS.accepted);
  await waitForScreen(second, "paid");
  assert.equal((await service.transactionsOf(checkout)).length, 1);
});

payBrowserTest(
  "a browser that was closed during the payment, with lost notifications, finds it paid",
  async () => {
    const { now, advance } = manualClock();
    await using service = await openPayService({ now });
    service.losesNotifications = true;
    const checkout = await service.create(ORDER);
    const page = await openCardForm(checkout);
    await enterCard(page, CARDS.accepted);
    await page.getByLabel("One-time password").waitFor();
    await page.context().close();
    await service.sandbox.control(`transactions/${checkout.order_id}/pay`);
    advance(10 * 60_000);
    await checkCheckouts(service.app.service);
    await runDueJobs(service.app);
    assert.equal((await service.readCheckout(checkout.id)).status, "paid");
    const later = await openDevice();
    await comeBack(later, checkout, "paid");
  },
);
