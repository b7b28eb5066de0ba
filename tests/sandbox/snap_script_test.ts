/** A merchant's page that uses `snap.js`, and the return to the merchant, in a browser. */

import assert from "node:assert/strict";
import { closePages, findBrowser, launchSharedBrowser } from "../support/browser.ts";
import {
  CLIENT_KEY,
  type Json,
  openSandbox,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";
import {
  CARDS,
  confirmCode,
  enterCard,
  openPage,
  pay,
  SNAP_PATH,
} from "../support/gateway/snap.ts";

const browserPath = findBrowser();

/** Null: no browser is installed. */
const browser = browserPath === null ? null : await launchSharedBrowser(browserPath);

/** A page as a merchant would write it. It keeps the argument of each callback. */
function merchantPage(sandboxUrl: string): string {
  return `<!DOCTYPE html>
    <title>Shop</title>
    <script src="${sandboxUrl}/snap/snap.js" data-client-key="${CLIENT_KEY}"></script>
    <h1>Shop</h1>
    <div id="place"></div>
    <script>
      const called = [];
      const names = ["onSuccess", "onPending", "onError", "onClose"];
      const callbacks = Object.fromEntries(
        names.map((name) => [name, (result) => called.push({ name, result })]),
      );
      const language = "en";
    </script>`;
}

interface Shop {
  box: TestSandbox;
  page: Json;
  url: string;
  /** Runs a call of the script on the merchant's page; `TOKEN` stands for the token. */
  run(call: string, token?: string): Promise<void>;
  /** Waits until the script has called a callback, and returns this call. */
  nextCallback(): Promise<{ name: string; result: Json }>;
}

function shopTest(name: string, run: (shop: Shop) => Promise<void>) {
  Deno.test({
    name,
    ignore: browser === null,
    async fn() {
      await using box = await openSandbox();
      await using server = Deno.serve({ port: 0, onListen: () => {} }, () => {
        return new Response(merchantPage(box.url), { headers: { "Content-Type": "text/html" } });
      });
      try {
        const page = await browser.newPage();
        // The shop and the sandbox are different sites for the browser.
        const url = `http://localhost:${server.addr.port}/`;
        await page.goto(url);
        await run({
          box,
          page,
          url,
          run: (call, token) => page.evaluate(call.replace("TOKEN", JSON.stringify(token))),
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

const PAY = "snap.pay(TOKEN, { ...callbacks, language })";

shopTest("snap.pay: calls onSuccess after a passed card, and closes", async (shop) => {
  const { box, page, run, nextCallback } = shop;
  await run(PAY, await openPage(box, "A-1"));
  const frame = page.frameLocator("iframe");
  await enterCard(frame, CARDS.accepted);
  await confirmCode(frame);
  const { name, result } = await nextCallback();
  assert.equal(name, "onSuccess");
  assert.deepEqual(
    [result.transaction_status, result.order_id, result.status_code, result.payment_type],
    ["capture", "A-1", "200", "credit_card"],
  );
  assert.equal(result.signature_key, undefined);
  assert.equal(await page.locator("iframe").count(), 0);
  assert.equal(page.url(), shop.url);
});

shopTest("snap.pay: lets the customer try again, then calls onError", async (shop) => {
  const { box, page, run, nextCallback } = shop;
  await run(PAY, await openPage(box, "A-1"));
  const frame = page.frameLocator("iframe");
  for (let denial = 1; denial <= 4; denial++) {
    await enterCard(frame, CARDS.denied);
    await confirmCode(frame);
    if (denial < 4) await frame.getByRole("alert").getByText("declined").waitFor();
  }
  const { name, result } = await nextCallback();
  assert.deepEqual([name, result.transaction_status], ["onError", "deny"]);
});

shopTest("snap.pay: calls onPending for a slow issuer", async (shop) => {
  const { box, page, run, nextCallback } = shop;
  await run(PAY, await openPage(box, "A-1"));
  const frame = page.frameLocator("iframe");
  await enterCard(frame, "4024007176265022");
  await confirmCode(frame);
  const { name, result } = await nextCallback();
  assert.deepEqual([name, result.transaction_status], ["onPending", "pending"]);
});

shopTest(
  "snap.pay: calls onPending when the customer closes it with a bank transfer",
  async (shop) => {
    const { box, page, run, nextCallback, url } = shop;
    const callbacks = { finish: `${url}done` };
    const request = { enabled_payments: ["bca_va"], callbacks };
    await run(PAY, await openPage(box, "A-1", request));
    const frame = page.frameLocator("iframe");
    await frame.getByRole("button", { name: "Continue" }).click();
    await frame.getByRole("link", { name: "Show how to pay" }).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    const { name, result } = await nextCallback();
    assert.deepEqual([name, result.payment_type], ["onPending", "bank_transfer"]);
  },
);

shopTest("return: a bank transfer stays on the page until it is paid", async (shop) => {
  const { box, page, url } = shop;
  const callbacks = { finish: `${url}done` };
  const token = await openPage(box, "A-1", { enabled_payments: ["bca_va"], callbacks });
  await page.goto(`${box.url}/snap/v3/redirection/${token}?language=en`);
  await page.getByRole("button", { name: "Continue" }).click();
  const opened = page.waitForEvent("popup");
  await page.getByRole("link", { name: "Show how to pay" }).click();
  const bank = await opened;
  await bank.getByRole("button", { name: /^Transfer/ }).click();
  await bank.getByRole("link", { name: "Continue" }).click();
  await bank.waitForURL(`${url}done?order_id=A-1&status_code=200&transaction_status=settlement`);
});

shopTest("snap.pay: calls onClose if the customer closes the popup", async (shop) => {
  const { box, page, run, nextCallback } = shop;
  await run(PAY, await openPage(box, "A-1"));
  await page.frameLocator("iframe").getByLabel("Card number").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  assert.equal((await nextCallback()).name, "onClose");
  assert.equal(await page.locator("iframe").count(), 0);
});

shopTest("snap.pay: calls onError for an unknown, cancelled or expired token", async (shop) => {
  const { box, run, nextCallback } = shop;
  await run(PAY, "unknown");
  const unknown = await nextCallback();
  assert.deepEqual([unknown.name, unknown.result.status_code], ["onError", "404"]);
  const cancelled = await openPage(box, "A-1");
  await box.post(`${SNAP_PATH}/${cancelled}/cancel`);
  await run(PAY, cancelled);
  assert.equal((await nextCallback()).name, "onError");
  const expired = await openPage(box, "A-2");
  await box.advance(86_401);
  await run(PAY, expired);
  assert.equal((await nextCallback()).name, "onError");
});

shopTest("snap.pay: without a callback, goes to the finish URL", async (shop) => {
  const { box, page, run, url } = shop;
  const callbacks = { finish: `${url}done` };
  await run("snap.pay(TOKEN, { language })", await openPage(box, "A-1", { callbacks }));
  const frame = page.frameLocator("iframe");
  await enterCard(frame, CARDS.accepted);
  await confirmCode(frame);
  await page.waitForURL(
    `${url}done?order_id=A-1&status_code=200&transaction_status=capture`,
  );
});

shopTest("snap.embed: shows the page in an element, and calls onSuccess", async (shop) => {
  const { box, page, run, nextCallback } = shop;
  await run(
    'snap.embed(TOKEN, { ...callbacks, language, embedId: "place" })',
    await openPage(box, "A-1"),
  );
  const frame = page.frameLocator("#place iframe");
  await enterCard(frame, CARDS.accepted);
  await confirmCode(frame);
  assert.equal((await nextCallback()).name, "onSuccess");
  await assert.rejects(run('snap.embed(TOKEN, { embedId: "missing" })', "t"), /missing/);
});

shopTest("snap.show: covers the page until snap.hide", async ({ page, run }) => {
  const popup = page.getByRole("dialog", { name: "Payment" });
  await run("snap.show()");
  await popup.waitFor();
  await run("snap.hide()");
  await popup.waitFor({ state: "detached" });
});

shopTest("return: a passed card leads to the finish URL with the result", async (shop) => {
  const { box, page, url } = shop;
  const token = await openPage(box, "A-1", { callbacks: { finish: `${url}done?shop=1` } });
  await page.goto(`${box.url}/snap/v3/redirection/${token}?language=en`);
  await enterCard(page, CARDS.accepted);
  await confirmCode(page);
  await page.waitForURL(
    `${url}done?shop=1&order_id=A-1&status_code=200&transaction_status=capture`,
  );
});

shopTest("return: a denied card without retries leads to the account's error URL", async (shop) => {
  const { box, page, url } = shop;
  await box.call("PATCH", "/snap/v3/merchant-preferences", {
    allow_retry: false,
    error_payment_return_url: `${url}failed`,
  });
  const token = await openPage(box, "A-1");
  await page.goto(`${box.url}/snap/v3/redirection/${token}?language=en`);
  await enterCard(page, CARDS.denied);
  await confirmCode(page);
  await page.waitForURL(`${url}failed?order_id=A-1&status_code=202&transaction_status=deny`);
});

shopTest(
  "return: a paid page that is opened again stays, and links to the finish URL",
  async (shop) => {
    const { box, page, url } = shop;
    const token = await openPage(box, "A-1", { callbacks: { finish: `${url}done` } });
    await pay(box, token);
    await page.goto(`${box.url}/snap/v3/redirection/${token}?language=en`);
    await page.getByRole("link", { name: "Back to the merchant" }).click();
    await page.waitForURL(
      `${url}done?order_id=A-1&status_code=200&transaction_status=capture`,
    );
  },
);
