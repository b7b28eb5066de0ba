import assert from "node:assert/strict";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { findBrowser, launchBrowser } from "../support/browser.ts";
import { brightness, faintTexts } from "../support/document/contrast.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { preparedFolder, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const browserPath = findBrowser();

/** A folder for screenshots of the page; none are taken if it is not set. */
const SCREENSHOTS = Deno.env.get("SCREENSHOT_DIR");

Deno.test({
  name: "reference page: works in a browser without internet access",
  ignore: browserPath === null,
  async fn(t) {
    await using folder = await preparedFolder();
    await using service = await startService({ settings: { DATA_DIR: folder.path } });
    const browser = await launchBrowser(browserPath!);
    const requests: Json[] = [];
    const errors: string[] = [];
    const screenshot = async (page: Json, name: string) => {
      if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name}.png` });
    };
    const send = async (page: Json, path: string) => {
      const responseArrived = page.waitForResponse((response: Json) =>
        response.url().endsWith(path)
      );
      await page.getByRole("button", { name: /^Send/ }).first().click();
      return await responseArrived;
    };

    try {
      // The page is loaded once: rendering the whole document takes ten seconds of processor time.
      const page = await browser.newPage({
        viewport: { width: 1400, height: 900 },
        colorScheme: "light",
      });
      page.on("request", (request: Json) => requests.push(request));
      page.on("console", (message: Json) => {
        if (message.type() === "error") errors.push(message.text());
      });
      page.on("pageerror", (error: Error) => errors.push(String(error)));
      await page.goto(`${service.url}/reference`);
      await page.getByRole("heading", { name: "Payment Gateway Integration Service" }).waitFor();
      await page.locator("#summary").waitFor({ state: "detached" });
      await screenshot(page, "light");

      await t.step(
        "“Create a charge” is in the navigation, and is sent with the development key",
        async () => {
          await page.getByRole("link", { name: "Create a charge" }).first().click();
          await page.getByRole("heading", { name: "Create a charge" }).first().waitFor();
          await screenshot(page, "charge");
          const button = { name: /Test Request.*\/charge\//i };
          await page.getByRole("button", button).first().click();
          const charge = await send(page, "/charge/");
          assert.equal(charge.status(), 201);
          const { authorization } = await charge.request().allHeaders();
          assert.equal(authorization, `Bearer ${service.keys.user}`);
          const firstPayment = PaymentSchema.parse(await charge.json());
          assert.equal(firstPayment.transaction_status, "pending");
          await page.getByText("201 Created").waitFor();
          await screenshot(page, "sent");

          // Example headers are not sent; the example Idempotency-Key would replay the first
          // charge.
          const secondCharge = await send(page, "/charge/");
          assert.equal(secondCharge.status(), 201);
          assert.notEqual(PaymentSchema.parse(await secondCharge.json()).id, firstPayment.id);
          const sent = await secondCharge.request().allHeaders();
          for (const name of ["idempotency-key", "prefer", "x-request-id"]) {
            assert.equal(sent[name], undefined, name);
          }
          await page.keyboard.press("Escape");
        },
      );

      await t.step("the search finds an operation and opens it", async () => {
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox", { name: "Enter search query" }).fill("get the caller");
        const found = page.getByRole("option", { name: /Operation.*\/me\//s }).first();
        await found.waitFor();
        await screenshot(page, "search");
        await found.click();
        await page.waitForURL(/#.*\/me\//);
        await page.getByRole("button", { name: /Test Request.*\/me\//i }).first().click();
        const me = await send(page, "/me/");
        assert.equal(me.status(), 200);
        assert.equal((await me.json()).user_id, "developer");
        await page.keyboard.press("Escape");
      });

      await t.step("the search shows operations before models", async () => {
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox", { name: "Enter search query" }).fill("refund");
        const options = page.getByRole("option");
        await options.filter({ hasText: "Models:" }).first().waitFor();
        const kinds: string[] = (await options.allInnerTexts()).map((text: string) =>
          text.trim().split(":")[0]!
        );
        const firstModel = kinds.indexOf("Models");
        assert.ok(firstModel > 0 && kinds[0] === "Operation", `${kinds}`);
        assert.ok(kinds.slice(firstModel).every((kind) => kind === "Models"), `${kinds}`);
        await page.keyboard.press("Escape");
      });

      await t.step("webhooks are shown without a button to send them", async () => {
        await page.getByRole("link", { name: "Webhooks", exact: true }).first().click();
        await page.getByRole("link", { name: "payment_settled" }).first().click();
        const webhook = page.locator('[id$="/webhook/POST/payment-settled"]');
        await webhook.getByRole("heading", { name: "payment_settled" }).waitFor();
        const button = webhook.locator(".show-api-client-button");
        await button.waitFor({ state: "attached" });
        assert.equal(await button.isVisible(), false);
        await screenshot(page, "webhook");
      });

      const name = "in light and dark mode all texts have enough contrast";
      const fn = async () => {
        // A color in transition would have another contrast.
        await page.addStyleTag({ content: "* { transition: none !important; }" });
        // The section of webhooks has every HTTP method, each with its own color.
        const places = [["charge", "Create a charge"], ["webhooks", "Create a webhook endpoint"]];
        for (const [place, link] of places) {
          await page.getByRole("link", { name: link }).first().click();
          await page.getByRole("heading", { name: link }).first().waitFor();
          for (const mode of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme: mode });
            const isLight = mode === "light";
            await until(`the page is ${mode}`, async () => {
              return (await brightness(page) > 0.5) === isLight;
            });
            await screenshot(page, `${mode}_${place}`);
            assert.deepEqual(await faintTexts(page), [], `${mode}, ${place}`);
          }
        }
      };
      await t.step(name, fn);

      await t.step("no other host was called, and there were no errors", () => {
        const urls = requests.map((request) => request.url());
        assert.ok(urls.some((url) => url.startsWith(service.url)));
        const outside = urls.filter((url) =>
          !url.startsWith(service.url) && !/^(data|blob|about):/.test(url)
        );
        assert.deepEqual(outside, []);
        assert.deepEqual(errors, []);
      });
    } finally {
      await browser.close();
    }
  },
});
