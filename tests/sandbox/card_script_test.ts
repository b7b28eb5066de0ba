/** A merchant's page that uses the card script, in a browser. */

import assert from "node:assert/strict";
import { closePages, findBrowser, launchSharedBrowser } from "../support/browser.ts";
import { CLIENT_KEY, type Json, openSandbox } from "../support/gateway/sandbox.ts";
import { until } from "../support/until.ts";

const browserPath = findBrowser();

/** Null: no browser is installed. */
const browser = browserPath === null ? null : await launchSharedBrowser(browserPath);

const CARD = {
  card_number: "4811 1111 1111 1114",
  card_exp_month: "12",
  card_exp_year: "2040",
  card_cvv: "123",
};

/** A page as a merchant would write it. It keeps the response of each callback. */
function merchantPage(sandboxUrl: string): string {
  return `<!DOCTYPE html>
    <title>Shop</title>
    <script id="midtrans-script" src="${sandboxUrl}/v2/assets/js/midtrans-new-3ds.min.js"
      data-environment="sandbox" data-client-key="${CLIENT_KEY}"></script>
    <iframe id="frame"></iframe>
    <script>
      const called = [];
      const callbacks = Object.fromEntries(["onSuccess", "onFailure", "onPending"].map((name) => [
        name,
        (response) => called.push({ name, response }),
      ]));
      const performAuthentication = (url) => document.getElementById("frame").src = url;
    </script>`;
}

interface Shop {
  page: Json;
  /** Charges the card with 3-D Secure and returns its `redirect_url`. */
  charge(tokenId: string): Promise<string>;
  /** Waits until the script has called a callback, and returns this call. */
  nextCallback(): Promise<{ name: string; response: Json }>;
  /** The forms that the merchant's callback URL received. */
  received: FormData[];
  url: string;
}

function shopTest(name: string, run: (shop: Shop) => Promise<void>) {
  Deno.test({
    name,
    ignore: browser === null,
    async fn() {
      await using box = await openSandbox();
      const received: FormData[] = [];
      await using server = Deno.serve({ port: 0, onListen: () => {} }, async (request) => {
        if (request.method === "POST") received.push(await request.formData());
        return new Response(merchantPage(box.url), { headers: { "Content-Type": "text/html" } });
      });
      try {
        const page = await browser.newPage();
        const url = `http://127.0.0.1:${server.addr.port}/`;
        await page.goto(url);
        await run({
          page,
          received,
          url,
          async charge(token_id) {
            const charged = await box.charge("card_3ds", { credit_card: { token_id } });
            assert.equal(charged.transaction_status, "pending");
            return charged.redirect_url;
          },
          async nextCallback() {
            await page.waitForFunction("called.length > 0");
            return await page.evaluate("called.pop()");
          },
        });
      } finally {
        await closePages(browser);
      }
    },
  });
}

async function createToken({ page, nextCallback }: Shop, card: Json = CARD) {
  await page.evaluate(`MidtransNew3ds.getCardToken(${JSON.stringify(card)}, callbacks)`);
  return await nextCallback();
}

async function authenticate({ page }: Shop, redirectUrl: string, choice: string): Promise<void> {
  const url = JSON.stringify(redirectUrl);
  await page.evaluate(
    `MidtransNew3ds.authenticate(${url}, { performAuthentication, ...callbacks })`,
  );
  const frame = page.frameLocator("#frame");
  if (choice === "Confirm") await frame.getByLabel("One-time password").fill("112233");
  await frame.getByRole("button", { name: choice }).click();
}

shopTest(
  "card script: creates a token and reports a passed 3-D Secure to the page",
  async (shop) => {
    const token = await createToken(shop);
    assert.equal(token.name, "onSuccess");
    const redirectUrl = await shop.charge(token.response.token_id);
    await authenticate(shop, redirectUrl, "Confirm");
    const { name, response } = await shop.nextCallback();
    assert.equal(name, "onSuccess");
    assert.deepEqual([response.transaction_status, response.order_id], ["capture", "order-1"]);
    assert.equal(response.signature_key, undefined);
  },
);

shopTest("card script: reports a failed 3-D Secure to the page", async (shop) => {
  const { response: { token_id } } = await createToken(shop);
  await authenticate(shop, await shop.charge(token_id), "Fail authentication");
  const { name, response } = await shop.nextCallback();
  assert.deepEqual([name, response.transaction_status], ["onFailure", "deny"]);
});

shopTest("card script: reports a challenged payment as pending", async (shop) => {
  const { response } = await createToken(shop, { ...CARD, card_number: "4511111111111117" });
  await authenticate(shop, await shop.charge(response.token_id), "Confirm");
  const challenged = await shop.nextCallback();
  assert.deepEqual([challenged.name, challenged.response.fraud_status], ["onPending", "challenge"]);
});

shopTest("card script: reports an invalid card to the page", async (shop) => {
  const { name, response } = await createToken(shop, { ...CARD, card_number: "4811111111111115" });
  assert.deepEqual([name, response.status_code], ["onFailure", "400"]);
});

shopTest("card script: redirect returns to the merchant with the result", async (shop) => {
  const { response: { token_id } } = await createToken(shop);
  const redirectUrl = JSON.stringify(await shop.charge(token_id));
  const callbackUrl = JSON.stringify(`${shop.url}finish`);
  await shop.page.evaluate(
    `MidtransNew3ds.redirect(${redirectUrl}, { callbackUrl: ${callbackUrl} })`,
  );
  await shop.page.getByLabel("One-time password").fill("112233");
  await shop.page.getByRole("button", { name: "Confirm" }).click();
  await until("the merchant receives the result", () => shop.received.length > 0);
  const response = JSON.parse(String(shop.received[0]!.get("response")));
  assert.deepEqual([response.transaction_status, response.order_id], ["capture", "order-1"]);
});
