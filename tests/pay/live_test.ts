import assert from "node:assert/strict";
import { openPayPages, type Page, payBrowserTest } from "../support/pay/browser.ts";
import { instructionsScreen, paidScreen } from "../support/pay/pages.ts";
import { until } from "../support/until.ts";

/** Waits until the heading of the page has this text. */
function waitForHeading(page: Page, name: string): Promise<void> {
  return page.getByRole("heading", { level: 1, name }).waitFor();
}

function waitForRequest(requests: string[], request: string): Promise<void> {
  return until(request, () => requests.includes(request));
}

payBrowserTest(
  "shows the next screen when an event arrives, and follows no longer once paid",
  async () => {
    await using opened = await openPayPages();
    const page = await opened.browser.newPage();
    await page.goto(`${opened.url}/pay-bca_va?lang=en`);
    await waitForRequest(opened.requests, "GET /pay/pay-bca_va/live");
    await page.locator("#guide-atm summary").click();
    opened.show("pay-bca_va", { stateKey: "state-2", screen: instructionsScreen("bni_va") });
    await waitForHeading(page, "Transfer to a BNI virtual account");
    assert.equal(await page.title(), "Transfer to a BNI virtual account · Kopi Nusantara");
    assert.ok(await page.locator("#guide-atm[open]").isVisible());
    // The element that had the focus is in the new page, too.
    const focused = "document.activeElement.closest('details')?.id";
    assert.equal(await page.evaluate(focused), "guide-atm");

    opened.show("pay-bca_va", { stateKey: "state-3", screen: paidScreen() });
    await waitForHeading(page, "Payment received");
    assert.equal(await page.evaluate("document.activeElement.id"), "heading");
    assert.equal(await page.locator("#announcement").textContent(), "Payment received");
    opened.requests.length = 0;
    await page.evaluate("dispatchEvent(new Event('online'))");
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.evaluate("new Image().src = '/pay/marker'");
    await waitForRequest(opened.requests, "GET /pay/marker");
    assert.deepEqual(opened.requests, ["GET /pay/marker"]);
  },
);

payBrowserTest("asks for the state where events do not pass", async () => {
  await using opened = await openPayPages({ hasEvents: false });
  const page = await opened.browser.newPage();
  await page.goto(`${opened.url}/pay-qris?lang=en`);
  await waitForRequest(opened.requests, "GET /pay/pay-qris/state");
  opened.show("pay-qris", { stateKey: "state-2", screen: paidScreen() });
  await waitForHeading(page, "Payment received");
});

payBrowserTest("keeps the focus on the page and the number that the customer types", async () => {
  await using opened = await openPayPages();
  const page = await opened.browser.newPage();
  await page.goto(`${opened.url}/choose-phone_unknown?lang=en`);
  await waitForRequest(opened.requests, "GET /pay/choose-phone_unknown/live");
  await page.getByLabel("Phone number of your OVO account").fill("0855");
  opened.show("choose-phone_unknown", { stateKey: "state-2" });
  await page.locator('#page[data-state="state-2"]').waitFor();
  assert.equal(await page.evaluate("document.activeElement.id"), "phone");
  assert.equal(await page.locator("#phone").inputValue(), "0855");
});

payBrowserTest("says that no payment has arrived yet", async () => {
  await using opened = await openPayPages();
  const page = await opened.browser.newPage();
  await page.goto(`${opened.url}/pay-bca_va?lang=en`);
  await page.getByRole("link", { name: "I have paid" }).click();
  await page.getByText("No payment yet.").waitFor();
  await page.context().setOffline(true);
  await page.getByRole("link", { name: "I have paid" }).click();
  await page.getByText("No connection.").waitFor();
});

payBrowserTest("copies the number and the amount without spaces", async () => {
  await using opened = await openPayPages();
  const context = await opened.browser.newContext({
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  await page.goto(`${opened.url}/pay-bca_va?lang=en`);
  for (
    const [name, value] of [["virtual account number", "81234567890123456"], ["amount", "275000"]]
  ) {
    await page.getByRole("button", { name: `Copy ${name}` }).click();
    await page.locator(`.copied[data-copy="${value}"]`).waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), value);
  }
});

payBrowserTest("copies in browsers that have no clipboard", async () => {
  await using opened = await openPayPages();
  const page = await opened.browser.newPage();
  await page.addInitScript(`
    Object.defineProperty(navigator, "clipboard", { value: undefined });
    document.execCommand = () => (globalThis.copiedText = getSelection().toString(), true);
  `);
  await page.goto(`${opened.url}/pay-bca_va?lang=en`);
  await page.getByRole("button", { name: "Copy amount" }).click();
  await page.locator(".copied").waitFor();
  assert.equal(await page.evaluate("copiedText"), "275000");
});

payBrowserTest("counts down by the service's clock, and checks at the end", async () => {
  await using opened = await openPayPages();
  const page = await opened.browser.newPage();
  await page.clock.install({ time: new Date("2020-01-01T00:00:00Z") });
  await page.goto(`${opened.url}/pay-ovo?lang=en`);
  await page.getByRole("timer").getByText("00:55").waitFor();
  opened.show("pay-ovo", { stateKey: "state-1" });
  opened.requests.length = 0;
  await page.clock.runFor(56_000);
  await page.getByRole("timer").getByText("00:00").waitFor();
  await waitForRequest(opened.requests, "GET /pay/pay-ovo/state");
});

payBrowserTest("every method can be chosen by keyboard alone", async () => {
  await using opened = await openPayPages();
  const page = await opened.browser.newPage();
  await page.goto(`${opened.url}/choose?lang=en`);
  const reached: string[] = [];
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.className"), "skip");
  for (let presses = 0; presses < 30; presses++) {
    await page.keyboard.press("Tab");
    reached.push(
      await page.evaluate("document.activeElement.value ?? document.activeElement.textContent"),
    );
    assert.ok(
      await page.evaluate("document.activeElement.matches('body, :focus-visible')"),
      reached.at(-1),
    );
  }
  for (const method of ["qris", "bca_va", "kredivo"]) assert.ok(reached.includes(method), method);
  await page.locator("#ovo summary").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type("081234567890");
  await page.keyboard.press("Enter");
  await waitForRequest(opened.requests, "POST /pay/choose method=ovo&phone=081234567890");
});
