import assert from "node:assert/strict";
import { type Json, openSandbox, savedCard } from "../support/gateway/sandbox.ts";
import { browserTest, press, row } from "../support/gateway/sandbox_browser.ts";
import { INVOICE, SUBSCRIPTION } from "../support/gateway/sandbox_requests.ts";
import { until } from "../support/until.ts";

const PHONE = { viewport: { width: 390, height: 844 } };
browserTest("list: shows the states of payment and webhook separately", async (test) => {
  const { box, open, takeScreenshot, takeScreenshots } = test;
  await box.charge("bca");
  await box.waitForWebhooks();
  const page = await open("/");
  const heads = await page.locator("thead th").allTextContents();
  assert.deepEqual(heads, ["Order", "Method", "Amount", "Payment", "Latest webhook", "Actions"]);
  const cells = async (page: Json) => {
    const texts = await row(page, "order-1").locator("td").allInnerTexts();
    return texts.slice(3, 5).map((text: string) => text.replaceAll(/\s+/g, " ").trim());
  };
  assert.deepEqual(await cells(page), ["pending", "delivered · 200 about “pending”"]);
  // The normal text colour, so that “delivered” does not look like a state of the payment.
  const colour = (selector: string) =>
    page.locator(selector).first().evaluate((element: Json) =>
      (globalThis as Json).getComputedStyle(element).color
    );
  assert.equal(await colour(".state.delivered"), await colour("body"));
  // A narrow window shows no column headings, so the cells have labels.
  const phone = await open("/", PHONE);
  assert.deepEqual(await cells(phone), [
    "Payment: pending",
    "Webhook: delivered · 200 about “pending”",
  ]);
  await page.getByRole("link", { name: "order-1", exact: true }).click();
  await page.getByText("Webhook about “pending”: delivered").waitFor();
  await page.getByRole("heading", { name: "Payment: pending" }).waitFor();

  await box.charge("card_challenge");
  await box.charge("card_auth");
  await box.paid("gopay");
  await box.charge("echannel");
  await box.charge("card_3ds");
  await takeScreenshots("/", "transactions");
  await takeScreenshot(page, "transactions_details");
});

browserTest("list of invoices: updates live, and its buttons work", async (test) => {
  const { box, open, takeScreenshots } = test;
  const page = await open("/invoices");
  await page.getByText("No invoices yet").waitFor();
  const create = (number: string, more: Json = {}) =>
    box.post("/v1/invoices", {
      ...INVOICE,
      order_id: `order-${number}`,
      invoice_number: number,
      ...more,
    });
  const first = await create("INV-1");
  await row(page, "INV-1").locator('.badge:text-is("pending")').waitFor();
  await press(page, "Pay INV-1");
  await page.getByText("INV-1 is now: paid").waitFor();
  await row(page, "INV-1").locator('.badge:text-is("paid")').waitFor();
  assert.equal(await row(page, "INV-1").getByRole("button").count(), 0);

  await create("INV-2");
  await press(page, "Void INV-2");
  await row(page, "INV-2").locator('.badge:text-is("voided")').waitFor();
  await create("QUO-1", { document_type: "quotation" });
  await press(page, "Convert QUO-1");
  await row(page, "QUO-1").locator('.badge:text-is("pending")').waitFor();
  await create("QUO-2", { document_type: "quotation" });
  await press(page, "Cancel QUO-2");
  await row(page, "QUO-2").locator('.badge:text-is("canceled")').waitFor();
  await page.getByText("4 total").waitFor();
  await takeScreenshots("/invoices", "invoices");
  // The number links to the customer's page, and the tab links back to the transactions.
  await row(page, "INV-1").getByRole("link", { name: "INV-1", exact: true }).click();
  await page.waitForURL(`**/payment-links/${first.id}`);
  await page.goto(`${box.url}/invoices`);
  await page.getByRole("link", { name: "Transactions", exact: true }).click();
  await row(page, "order-INV-1").locator(".badge.settlement").waitFor();
});

browserTest("list of subscriptions: updates live, and its buttons work", async (test) => {
  const { box, open, takeScreenshots } = test;
  const page = await open("/subscriptions");
  await page.getByText("No subscriptions yet").waitFor();
  const token = await savedCard(box);
  const create = (name: string) => box.post("/v1/subscriptions", { ...SUBSCRIPTION, name, token });
  const { id } = await create("monthly");
  await row(page, "monthly").locator('.badge:text-is("active")').waitFor();
  await press(page, "Charge now monthly");
  await page.getByText("monthly: active, cycles started: 1").waitFor();
  assert.equal((await box.get(`/v1/subscriptions/${id}`)).transaction_ids.length, 1);
  await press(page, "Disable monthly");
  await row(page, "monthly").locator('.badge:text-is("inactive")').waitFor();
  await press(page, "Enable monthly");
  await row(page, "monthly").locator('.badge:text-is("active")').waitFor();
  await create("ended");
  await press(page, "Cancel ended");
  await row(page, "ended").getByText("cancelled").waitFor();
  assert.equal(await row(page, "ended").getByRole("button").count(), 0);
  await takeScreenshots("/subscriptions", "subscriptions");
  await row(page, "monthly").getByRole("link", { name: "Last charge of monthly" }).click();
  await page.getByRole("heading", { name: "Payment: capture" }).waitFor();
});

Deno.test("control API: acts on invoices and subscriptions, and rejects unknown actions", async () => {
  await using box = await openSandbox();
  const invoice = await box.post("/v1/invoices", INVOICE);
  assert.equal((await box.control(`invoices/${invoice.id}/void`)).status, "voided");
  assert.equal((await box.call("POST", `/_sandbox/invoices/${invoice.id}/void`)).http, 409);
  assert.equal((await box.call("POST", `/_sandbox/invoices/${invoice.id}/forget`)).http, 404);
  assert.equal((await box.call("POST", "/_sandbox/invoices/no/void")).http, 404);
  const token = await savedCard(box);
  const { id } = await box.post("/v1/subscriptions", { ...SUBSCRIPTION, token });
  assert.equal((await box.control(`subscriptions/${id}/disable`)).status, "inactive");
  assert.equal((await box.control(`subscriptions/${id}/enable`)).status, "active");
  assert.equal((await box.control(`subscriptions/${id}/cancel`)).status, "inactive");
  assert.equal((await box.call("POST", `/_sandbox/subscriptions/${id}/enable`)).http, 400);
  assert.equal((await box.call("POST", `/_sandbox/subscriptions/${id}/forget`)).http, 404);
});

browserTest("copy buttons: copy the number without spaces", async (test) => {
  const { box, open, takeScreenshots } = test;
  const empty = await open("/", { permissions: ["clipboard-read", "clipboard-write"] });
  const copied = (page: Json) =>
    page.evaluate(() => (globalThis as Json).navigator.clipboard.readText());
  const copy = async (page: Json, name: string) => {
    const button = page.getByRole("button", { name, exact: true }).first();
    // If the list is updated at this moment, a new button replaces the one that was clicked.
    await until(`the button "${name}" shows that it has copied`, async () => {
      await button.click();
      return await button.textContent() === "Copied";
    });
    return await copied(page);
  };
  assert.equal(await copy(empty, "Copy card number: accepted"), "4811111111111114");
  assert.match(await copy(empty, "Copy command"), /^curl 'http/);
  await takeScreenshots("/", "empty");
  const bank = await box.charge("bca");
  await row(empty, "order-1").waitFor();
  assert.equal(await copy(empty, "Copy payment number"), bank.va_numbers[0].va_number);
  const pay = async ({ transaction_id }: Json, name: string) => {
    await empty.goto(`${box.url}/pay/${transaction_id}`);
    return await copy(empty, name);
  };
  assert.equal(await pay(bank, "Copy account number"), bank.va_numbers[0].va_number);
  const bill = await box.charge("echannel");
  assert.equal(await pay(bill, "Copy bill key"), bill.bill_key);
  assert.equal(await copy(empty, "Copy biller code"), bill.biller_code);
  await takeScreenshots(`/pay/${bill.transaction_id}`, "bill");
  const store = await box.charge("alfamart");
  assert.equal(await pay(store, "Copy payment code"), store.payment_code);
});

browserTest(
  "empty list: shows a command that calls the service, if a service runs with the sandbox",
  async (test) => {
    const { box, open } = test;
    const command = async () => {
      const page = await open("/");
      return await page.locator("#curl").textContent();
    };
    assert.match(await command(), new RegExp(`^curl '${box.url}/v2/charge'`));
    box.sandbox.showService({ url: "http://127.0.0.1:8000", key: "gk_test" });
    const shown = await command();
    assert.equal(
      shown.replaceAll(/ \\\n {2}/g, " "),
      "curl 'http://127.0.0.1:8000/charge/' -H 'Authorization: Bearer gk_test' " +
        "-H 'Content-Type: application/json' " +
        `-d '{"payment_type":"bank_transfer","bank":"bca","gross_amount":44000}'`,
    );
    box.sandbox.showService({ url: "http://127.0.0.1:8000", key: null });
    assert.match(await command(), /Bearer gk_…/);
  },
);

browserTest("payment link page: shows items, notes and the invoice status", async (test) => {
  const { box, open, takeScreenshots } = test;
  const { id, payment_link_url } = await box.post("/v1/invoices", {
    ...INVOICE,
    amount: null,
    notes: "Delivery on Monday.\nPlease have <b>cash</b> ready.",
    item_details: [
      { description: "Coffee beans, 1 kg", quantity: 2, price: 150_000, discount_percentage: 10 },
      { description: "Filter", quantity: 1, price: 20_000 },
    ],
  });
  const page = await open(payment_link_url);
  await page.getByRole("heading", { name: "Rp 290.000" }).waitFor();
  await page.getByText("Coffee beans, 1 kg").waitFor();
  await page.getByText("2 × Rp 150.000, −10%").waitFor();
  await page.getByText("Please have <b>cash</b> ready.").waitFor();
  const status = async () => await page.locator(".badge").textContent();
  await takeScreenshots(payment_link_url, "invoice");
  assert.equal(await status(), "pending");
  await box.control(`invoices/${id}/void`);
  await page.reload();
  assert.equal(await status(), "voided");
  assert.equal(await status(), (await box.get(`/v1/invoices/${id}`)).status);
  await page.getByText("No payment is due").waitFor();
  assert.equal(await page.getByRole("button", { name: "Continue" }).count(), 0);
});
