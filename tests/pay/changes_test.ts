import assert from "node:assert/strict";
import { METHODS } from "../../core/checkouts/methods.ts";
import { CHARGED_METHODS } from "../support/checkouts/checkouts.ts";
import { assertOnePayable } from "../support/checkouts/one_payable.ts";
import { type Page, payBrowserTest } from "../support/pay/browser.ts";
import {
  changeOnPage,
  chooseOnPage,
  openPayService,
  openRelayedPayService,
  ORDER,
  untilStatus,
  visitLive,
  waitForScreen,
} from "../support/pay/service.ts";
import { isPartial } from "../support/share.ts";
import { until } from "../support/until.ts";

const PAIRS = CHARGED_METHODS.filter((id) => METHODS[id].closing !== "wait").flatMap((first) =>
  CHARGED_METHODS.filter((second) => second !== first).map((second) => [first, second] as const)
);

/** The method that the page shows, from the class of its icon. */
async function methodOn(page: Page): Promise<string> {
  const names: string = await page.locator(".title .icon").getAttribute("class");
  return names.replace("icon icon-", "");
}

function clickMethod(page: Page, method: string): Promise<void> {
  return page.locator(`button[value="${method}"]`).click();
}

/** Without `--full`. The first payment is closed by an expiry or by a cancellation. */
const SOME_PAIRS = [["bca_va", "gopay"], ["gopay", "qris"], ["qris", "bca_va"]] as const;

payBrowserTest("the method can be changed, in every order of two", async () => {
  await using service = await openPayService();
  for (const [first, second] of isPartial ? SOME_PAIRS : PAIRS) {
    const name = `${first}, then ${second}`;
    const checkout = await service.create(ORDER);
    const page = await service.visit(checkout);
    await chooseOnPage(page, first);
    assert.equal((await service.payable(checkout)).order_id, checkout.order_id, name);
    await changeOnPage(page);
    assert.match(await page.locator(".notice").textContent(), /payment was closed/, name);
    await chooseOnPage(page, second);
    assert.equal(await methodOn(page), second);
    assert.equal((await service.payable(checkout)).order_id, `${checkout.order_id}~2`, name);
    await assertOnePayable(service.sandbox, checkout, name);
    await page.context().close();
  }
});

payBrowserTest(
  "OVO cannot be changed, and after its minute another method can be chosen",
  async () => {
    await using service = await openPayService();
    const checkout = await service.create(ORDER);
    const page = await visitLive(checkout);
    await chooseOnPage(page, "ovo");
    assert.equal(await page.locator("form.change").count(), 0);
    await page.getByText("You can choose another way to pay when this request").waitFor();
    await service.sandbox.advance(120);
    await waitForScreen(page, "choose");
    await page.getByText("The time to pay with OVO has run out.").waitFor();
    await chooseOnPage(page, "qris");
    await assertOnePayable(service.sandbox, checkout);
  },
);

payBrowserTest("a second device shows the choice of the first one", async () => {
  await using service = await openPayService();
  const checkout = await service.create(ORDER);
  const phone = await visitLive(checkout);
  const desktop = await visitLive(checkout, { width: 1280, language: "id" });
  await chooseOnPage(phone, "bca_va");
  await waitForScreen(desktop, "instructions");
  const { va_numbers: [{ va_number }] } = await service.payable(checkout);
  for (const page of [phone, desktop]) await page.locator(`[data-copy="${va_number}"]`).waitFor();
  await changeOnPage(desktop);
  await waitForScreen(phone, "choose");
  await chooseOnPage(phone, "gopay");
  await desktop.locator(".icon-gopay").waitFor();
  await service.pay(checkout);
  for (const page of [phone, desktop]) await waitForScreen(page, "paid");
  await assertOnePayable(service.sandbox, checkout);
});

payBrowserTest("two devices that choose at the same moment show the same", async () => {
  await using service = await openPayService({ poolSize: 8 });
  const checkout = await service.create(ORDER);
  const devices: Page[] = [await visitLive(checkout), await visitLive(checkout)];
  const first = await devices[0].evaluate(shownState);
  await Promise.all(["bca_va", "qris"].map((method, index) =>
    // Without waiting: the choice of the other device may replace the button.
    devices[index].evaluate(`document.querySelector("button[value=${method}]")?.click()`)
  ));
  await until("both devices show the same, and wait for nothing", async () => {
    const [phone, desktop] = await Promise.all(devices.map(readState));
    return phone === desktop && phone !== first && phone?.includes("waiting") === false;
  });
  await assertOnePayable(service.sandbox, checkout);
});

/** To be evaluated in a page: its screen and the version of what it shows. */
const shownState = "`${page.className} ${page.dataset.state}`";

/** Null while the browser loads the page. */
async function readState(page: Page): Promise<string | null> {
  return await page.evaluate(shownState).catch(() => null);
}

payBrowserTest(
  "a device that chooses during the charge of another gets the list again",
  async () => {
    await using service = await openRelayedPayService();
    const checkout = await service.create(ORDER);
    const devices: Page[] = [
      await visitLive(checkout),
      await visitLive(checkout),
    ];
    const [phone, desktop] = devices;
    const charge = service.relay.holdNext("POST /v2/charge");
    const choosing = clickMethod(phone, "bca_va");
    await charge.arrived;
    await clickMethod(desktop, "qris");
    await waitForScreen(desktop, "waiting");
    charge.release();
    await choosing;
    for (const page of devices) await page.locator(".screen-choose .notice").waitFor();
    await chooseOnPage(desktop, "qris");
    await waitForScreen(phone, "instructions");
    assert.equal((await service.payable(checkout)).payment_type, "qris");
    await assertOnePayable(service.sandbox, checkout);
  },
);

payBrowserTest("a payment in the moment of the change is shown as paid", async () => {
  await using service = await openRelayedPayService();
  const checkout = await service.create(ORDER);
  const page = await visitLive(checkout);
  await chooseOnPage(page, "bca_va");
  const closing = service.relay.holdNext("POST /v2/:id/expire");
  const changing = page.locator("form.change button").click();
  await closing.arrived;
  await service.pay(checkout);
  closing.release();
  await changing;
  await waitForScreen(page, "paid");
  await untilStatus(service, checkout, "paid");
  const transactions = await service.transactionsOf(checkout);
  assert.deepEqual(transactions.map((each) => each.transaction_status), ["settlement"]);
  await assertOnePayable(service.sandbox, checkout);
});

payBrowserTest(
  "while the gateway does not confirm the change, the page waits, then offers the methods",
  async () => {
    await using service = await openRelayedPayService();
    const checkout = await service.create(ORDER);
    const page = await visitLive(checkout);
    await chooseOnPage(page, "gopay");
    const closing = service.relay.holdNext("POST /v2/:id/cancel");
    const changing = page.locator("form.change button").click();
    await closing.arrived;
    const other = await visitLive(checkout);
    await waitForScreen(other, "waiting");
    await other.getByText("Closing your GoPay payment").first().waitFor();
    closing.release();
    await changing;
    for (const each of [page, other]) await waitForScreen(each, "choose");
    await assertOnePayable(service.sandbox, checkout);
  },
);
