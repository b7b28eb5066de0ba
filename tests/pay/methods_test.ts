import assert from "node:assert/strict";
import type { MethodId } from "../../core/checkouts/methods.ts";
import { CHARGED_METHODS } from "../support/checkouts/checkouts.ts";
import type { Payment } from "../support/payments/payments.ts";
import { type Page, payBrowserTest, sharedBrowser } from "../support/pay/browser.ts";
import { observe } from "../support/pay/observer.ts";
import { scanElement } from "../support/pay/scan.ts";
import {
  chooseOnPage,
  FINISH_URL,
  openDevice,
  openPayService,
  ORDER,
  waitForScreen,
} from "../support/pay/service.ts";
import { isPartial } from "../support/share.ts";
import { until } from "../support/until.ts";

const LOOKS = [390, 1280].flatMap((width) =>
  (["id", "en"] as const).flatMap((language) =>
    (["light", "dark"] as const).map((colorScheme) => ({ width, language, colorScheme }))
  )
);

/** One method for each kind of instructions. */
const KINDS = ["qris", "gopay", "ovo", "bca_va", "echannel", "indomaret", "akulaku"] as const;

/** Each kind once, with most looks among them; `--full` tries every method with every look. */
const JOURNEYS = (isPartial ? KINDS : CHARGED_METHODS).flatMap((method, index) =>
  LOOKS.map((look) => ({ method, look })).filter((_, number) =>
    !isPartial || number === index % LOOKS.length
  )
);

const TITLES = { id: "Pembayaran berhasil", en: "Payment received" };

/** The page shows what the customer needs to pay this stored payment. */
async function assertInstructions(page: Page, method: MethodId, payment: Payment) {
  const { va_number, biller_code, bill_key, payment_code } = payment;
  for (const number of [va_number, biller_code, bill_key, payment_code]) {
    if (number === null) continue;
    const shown = page.locator(
      `div:has(> [data-copy="${number}"]) .number, ` +
        `dd:has(> [data-copy="${number}"]) .number`,
    );
    assert.equal((await shown.textContent()).replaceAll(/\s/g, ""), number, method);
  }
  if (method === "gopay" || method === "shopeepay") {
    assert.equal(await page.locator(".wallet-app a").getAttribute("href"), payment.deeplink_url);
  }
  if (method === "akulaku" || method === "kredivo") {
    assert.equal(await page.locator("a.button.main").getAttribute("href"), payment.redirect_url);
  }
  if (["qris", "gopay", "shopeepay"].includes(method)) await assertCode(page, method, payment);
}

/** Scanners read the code on the screen. GoPay's is the image of the gateway. */
async function assertCode(page: Page, method: MethodId, payment: Payment) {
  const { qr_string, deeplink_url } = payment;
  const code = page.locator(".qr");
  await code.waitFor();
  if (method === "gopay") {
    const isLoaded = "document.querySelector('img.qr').naturalWidth > 0";
    await until("the image is loaded", () => page.evaluate(isLoaded));
  }
  const blank = await sharedBrowser.newPage();
  const read = await scanElement(code, blank);
  await blank.context().close();
  if (method === "gopay") assert.match(read ?? "nothing", /^000201/);
  else assert.equal(read, method === "qris" ? qr_string : deeplink_url);
}

payBrowserTest("every method can be chosen and paid, and leads back to the shop", async () => {
  await using service = await openPayService();
  for (const { method, look } of JOURNEYS) {
    const name = `${method} ${Object.values(look).join(" ")}`;
    const checkout = await service.create(ORDER);
    const page = await openDevice(look);
    const observed = observe(page, service.url);
    await page.goto(checkout.checkout_url);
    assert.equal(await page.getAttribute("html", "lang"), look.language, name);
    await chooseOnPage(page, method);
    const [stored] = await service.paymentsOf(checkout);
    await assertInstructions(page, method, await service.read(stored!.id));
    await service.pay(checkout);
    await waitForScreen(page, "paid");
    assert.equal(await page.locator("h1").textContent(), TITLES[look.language], name);
    await observed.assertClean(name);
    await assertReturn(page, checkout.id);
    await page.context().close();
  }
});

/** The shop learns the checkout's id, and nothing of the link. */
async function assertReturn(page: Page, id: string) {
  await page.route("https://shop.example/**", (route: Page) => route.fulfill({ body: "Thanks" }));
  const [request] = await Promise.all([
    page.waitForRequest(/shop\.example/),
    page.locator(".outcome a.button.main").click(),
  ]);
  assert.equal(request.url(), `${FINISH_URL}&checkout_id=${id}`);
  assert.equal(request.headers().referer, undefined);
  await page.waitForURL(/shop\.example/);
}
