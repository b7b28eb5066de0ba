import assert from "node:assert/strict";
import { dumpDatabase } from "../support/database/dump.ts";
import { CARDS, confirmCode, enterCard } from "../support/gateway/snap.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { payBrowserTest } from "../support/pay/browser.ts";
import { comeBack, followToForm, openCardForm } from "../support/pay/cards.ts";
import {
  chooseOnPage,
  FINISH_URL,
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
