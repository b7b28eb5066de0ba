import assert from "node:assert/strict";
import { METHOD_IDS } from "../../core/checkouts/methods.ts";
import { checkAccessibility, isTooWide, openDetails } from "../support/pay/appearance.ts";
import { openPayPages, type Page, payBrowserTest } from "../support/pay/browser.ts";
import { SCREENS } from "../support/pay/pages.ts";
import { isPartial } from "../support/share.ts";
import { AXE } from "../support/tools.ts";

/** A folder for screenshots; none are taken if it is not set. */
const SCREENSHOTS = Deno.env.get("SCREENSHOT_DIR");

/**
 * A phone and a desktop, each with both themes and languages. Every fourth screen is tried with one
 * of them, with `--full` each screen with all.
 */
const LOOKS = [390, 1280].flatMap((width) =>
  (["light", "dark"] as const).flatMap((colorScheme) =>
    ["id", "en"].map((language) => ({ width, colorScheme, language }))
  )
);

payBrowserTest(
  "every screen is accessible and fits on phones, also with 200 % zoom, and on desktops",
  async () => {
    await using opened = await openPayPages();
    const { source } = (await import(AXE)).default;
    for (const [number, { width, colorScheme, language }] of LOOKS.entries()) {
      const isPhone = width === 390;
      const context = await opened.browser.newContext({
        viewport: { width, height: isPhone ? 844 : 900 },
        colorScheme,
        hasTouch: isPhone,
        isMobile: isPhone,
        reducedMotion: "reduce",
      });
      const page = await context.newPage();
      for (const [index, name] of Object.keys(SCREENS).entries()) {
        if (isPartial && index % (4 * LOOKS.length) !== 4 * number) continue;
        const look = `${name}-${width}-${colorScheme}-${language}`;
        await page.goto(`${opened.url}/${name}?lang=${language}`);
        if (SCREENSHOTS) {
          await page.screenshot({ path: `${SCREENSHOTS}/${look}.png`, fullPage: true });
        }
        await page.evaluate(openDetails);
        assert.ok(!await page.evaluate(isTooWide), `${look} is too wide`);
        await page.evaluate(source);
        assert.deepEqual(await checkAccessibility(page), [], look);
        if (!isPhone) continue;
        // A zoom of 200 % halves the width that the layout has.
        await page.setViewportSize({ width: 195, height: 422 });
        assert.ok(!await page.evaluate(isTooWide), `${look} is too wide with a zoom of 200 %`);
        await page.setViewportSize({ width, height: 844 });
      }
      await context.close();
    }
  },
);

/** Without `--full`, every third screen. */
const SOME_SCREENS = Object.entries(SCREENS)
  .filter((_, index) => !isPartial || index % 3 === 0);

payBrowserTest("the longest names, numbers and amounts fit", async () => {
  await using opened = await openPayPages();
  const page = await opened.browser.newPage();
  for (const [name, screen] of SOME_SCREENS) {
    opened.show(name, {
      merchant: { name: "W".repeat(80), color: null, logoPath: null },
      order: {
        order_id: "M".repeat(46),
        gross_amount: 9_999_999_999_999,
        items: [{ name: "W".repeat(50), price: 9_999_999_999, quantity: 1_000 }],
        customer_name: "W".repeat(100),
      },
      screen: screen.type === "instructions"
        ? { ...screen, payment: { ...screen.payment, va_number: "8".repeat(40) } }
        : screen,
    });
    await page.goto(`${opened.url}/${name}`);
    await page.evaluate(openDetails);
    for (const width of [195, 390, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      assert.ok(!await page.evaluate(isTooWide), `${name} is wider than ${width} px`);
    }
  }
});

payBrowserTest("loads nothing from other hosts and breaks no rule of its policy", async () => {
  await using opened = await openPayPages();
  const page = await opened.browser.newPage();
  const findings: string[] = [];
  page.on("console", (message: Page) => {
    if (message.type() === "error") findings.push(message.text());
  });
  page.on("pageerror", (error: Error) => findings.push(error.message));
  page.on("request", (request: Page) => {
    if (!request.url().startsWith(opened.url)) findings.push(request.url());
  });
  for (const [name] of SOME_SCREENS) {
    await page.goto(`${opened.url}/${name}`);
    await page.locator("html[data-scripts]").waitFor();
  }
  assert.deepEqual(findings, []);
  assert.deepEqual(await page.context().cookies(), []);
});

payBrowserTest(
  "a wallet shows its app first on a phone, and the code first on a desktop",
  async () => {
    await using opened = await openPayPages();
    for (const isPhone of [true, false]) {
      const context = await opened.browser.newContext({
        viewport: { width: isPhone ? 390 : 1280, height: 900 },
        hasTouch: isPhone,
        isMobile: isPhone,
      });
      const page = await context.newPage();
      await page.goto(`${opened.url}/pay-gopay`);
      const app = await page.locator(".wallet-app").boundingBox();
      const code = await page.locator(".wallet-qr").boundingBox();
      assert.equal(app.y < code.y, isPhone);
      await context.close();
    }
  },
);

payBrowserTest("every method can be chosen, changed and checked without scripts", async () => {
  await using opened = await openPayPages();
  const context = await opened.browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  for (const method of isPartial ? ["ovo", "qris"] as const : METHOD_IDS) {
    await page.goto(`${opened.url}/choose?lang=en`);
    if (method === "ovo") {
      await page.locator("#ovo summary").click();
      await page.getByLabel("Phone number of your OVO account").fill("081234567890");
      await page.getByRole("button", { name: "Pay with OVO" }).click();
    } else {
      await page.locator(`button[value="${method}"]`).click();
    }
    await page.waitForURL(`${opened.url}/choose?lang=en`);
    const phone = method === "ovo" ? "&phone=081234567890" : "";
    assert.ok(opened.requests.includes(`POST /pay/choose method=${method}${phone}`), method);
  }
  await page.goto(`${opened.url}/pay-bca_va?lang=en`);
  assert.equal(await page.getByRole("button", { name: /Copy/ }).count(), 0);
  await page.getByRole("button", { name: "Choose another way to pay" }).click();
  await page.goto(`${opened.url}/pay-bca_va?lang=en`);
  assert.ok(opened.requests.includes("POST /pay/pay-bca_va/change"));
  const loaded = opened.requests.length;
  await page.getByRole("link", { name: "I have paid" }).click();
  await page.waitForLoadState();
  assert.equal(opened.requests[loaded], "GET /pay/pay-bca_va");
  await page.getByRole("link", { name: "Indonesia" }).click();
  await page.getByText("Nomor virtual account").first().waitFor();
});
