import assert from "node:assert/strict";
import { checkCheckouts } from "../../core/checkouts/settle_checkout.ts";
import { dumpDatabase } from "../support/database/dump.ts";
import { CARDS, confirmCode, enterCard } from "../support/gateway/snap.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { payBrowserTest } from "../support/pay/browser.ts";
import { comeBack, followToForm, openCardForm } from "../support/pay/cards.ts";
import {
  changeOnPage,
  chooseOnPage,
  FINISH_URL,
  openDevice,
  openPayService,
  ORDER,
  waitForScreen,
} from "../support/pay/service.ts";

payBrowserTest("an accepted card leads back to the checkout, and on to the shop", async () => {
  await using service = await openPayService();
  const checkout = await service.create(ORDER);
  const page = await openCardForm(checkout);
  await enterCard(page, CARDS.accepted);
  await confirmCode(page);
  await waitForScreen(page, "paid");
  assert.equal(new URL(page.url()).pathname, new URL(checkout.checkout_url!).pathname);
  const link = page.locator(".outcome a.button.main");
  assert.equal(await link.getAttribute("href"), `${FINISH_URL}&checkout_id=${checkout.id}`);
  const paid = await service.readCheckout(checkout.id);
  assert.deepEqual([paid.status, paid.payment?.payment_type], ["paid", "credit_card"]);
});

payBrowserTest("a denied card can be followed by an accepted one", async () => {
  await using service = await openPayService();
  const checkout = await service.create(ORDER);
  const page = await openCardForm(checkout);
  await enterCard(page, CARDS.denied);
  await confirmCode(page);
  await page.getByRole("alert").waitFor();
  await comeBack(page, checkout, "card");
  await page.getByText("The card payment didn’t go through.").waitFor();
  await followToForm(page);
  await enterCard(page, CARDS.accepted);
  await confirmCode(page);
  await waitForScreen(page, "paid");
});

payBrowserTest("after three denied cards the customer pays in another way", async () => {
  await using service = await openPayService();
  const checkout = await service.create(ORDER);
  const page = await openCardForm(checkout);
  for (let card = 1; card <= 3; card++) {
    await enterCard(page, CARDS.denied);
    await confirmCode(page);
    await page.getByRole("alert").waitFor();
  }
  await service.sandbox.waitForWebhooks();
  await runDueJobs(service.app);
  await comeBack(page, checkout, "choose");
  await page.getByText("declined several times").waitFor();
  assert.equal(await page.locator("button[value=credit_card]").count(), 0);
  await chooseOnPage(page, "qris");
  await service.pay(checkout);
  await waitForScreen(page, "paid");
});

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
  "the return shows the payment before its notification, and changes nothing after it",
  async () => {
    await using service = await openPayService();
    for (const isFirst of [true, false]) {
      const checkout = await service.create(ORDER);
      service.losesNotifications = isFirst;
      const page = await openCardForm(checkout);
      await enterCard(page, CARDS.accepted);
      await page.getByLabel("One-time password").waitFor();
      if (!isFirst) {
        await service.sandbox.control(`transactions/${checkout.order_id}/pay`);
        await service.sandbox.waitForWebhooks();
        await comeBack(page, checkout, "paid");
      } else {
        await confirmCode(page);
        await waitForScreen(page, "paid");
      }
      service.losesNotifications = false;
      assert.deepEqual(await service.events(checkout.id), ["checkout_completed"]);
      await page.goto(`${checkout.checkout_url}/return/?transaction_status=deny&lang=en`);
      await waitForScreen(page, "paid");
      assert.equal((await service.paymentsOf(checkout)).length, 1);
    }
  },
);

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

payBrowserTest("the link “I have paid” asks the gateway, with and without scripts", async () => {
  await using service = await openPayService();
  service.losesNotifications = true;
  for (const javaScriptEnabled of [true, false]) {
    const checkout = await service.create(ORDER);
    const page = await service.visit(checkout, { javaScriptEnabled });
    await chooseOnPage(page, "credit_card");
    const [{ token }] = await service.sandbox.get(`/_sandbox/snap?order_id=${checkout.order_id}`);
    await service.sandbox.control(`snap/${token}/pay`, { card_number: CARDS.accepted });
    await page.getByRole("link", { name: "I have paid" }).click();
    await waitForScreen(page, "paid");
  }
});

payBrowserTest(
  "no card number reaches the service, its log or its database",
  async () => {
    await using service = await openPayService({ env: { LOG_GATEWAY: "true" } });
    const checkout = await service.create(ORDER);
    const page = await openCardForm(checkout);
    await enterCard(page, CARDS.denied);
    await confirmCode(page);
    await page.getByRole("alert").waitFor();
    await enterCard(page, CARDS.accepted);
    await confirmCode(page);
    await waitForScreen(page, "paid");
    await service.sandbox.waitForWebhooks();
    await runDueJobs(service.app);
    const texts = {
      requests: service.received,
      log: service.app.logged().map((line) => JSON.stringify(line)),
      columns: await dumpDatabase(service.databaseUrl),
    };
    for (const [where, all] of Object.entries(texts)) {
      assert.ok(all.length > 0, where);
      const text = all.join("\n").replaceAll(/[ -]/g, "");
      for (const number of Object.values(CARDS)) assert.ok(!text.includes(number), where);
    }
  },
);
