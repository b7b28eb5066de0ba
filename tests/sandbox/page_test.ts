import assert from "node:assert/strict";
import { type Json, type Kind, KINDS, openSandbox } from "../support/gateway/sandbox.ts";
import { browserTest, press, row } from "../support/gateway/sandbox_browser.ts";
import { JSQR } from "../support/tools.ts";

const HOSTILE = `"><img src=x onerror=alert(1)>`;

Deno.test("pages: have a strict content security policy; unknown ids get a 404 page", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.charge("bca");
  for (const path of ["/", `/pay/${transaction_id}`, `/transactions/${transaction_id}`]) {
    const { http, headers } = await box.call("GET", path);
    assert.equal(http, 200);
    assert.match(headers.get("content-type")!, /^text\/html/);
    const policy = headers.get("content-security-policy")!;
    assert.match(policy, /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/);
    assert.doesNotMatch(policy, /unsafe/);
  }
  const unknown = [
    ...["/pay/no", "/transactions/no", "/gopay/app/no", "/v2/akulaku/redirect/no"],
    ...["/v2/3ds/redirect/no", "/gopay/link/no", "/payment-links/no", "/invoices/no.pdf"],
    ...["/v2/qris/no/qr-code", "/v2/gopay/no/qr-code", "/v4/qris/no/qr-code"],
    // URLs of other methods: a bank transfer has neither an app nor a QR code.
    ...[`/shopeepay/app/${transaction_id}`, `/v2/qris/${transaction_id}/qr-code`],
  ];
  for (const path of unknown) {
    const { http, text } = await box.call("GET", path);
    assert.equal(http, 404, path);
    assert.match(text, /No record matches this URL/);
  }
  // Unknown API paths still get the gateway's error format.
  assert.equal((await box.get("/v2/no/such/path")).status_code, "404");
});

Deno.test("pages: GET changes nothing, and POST from other sites is rejected", async () => {
  await using box = await openSandbox();
  const { transaction_id } = await box.charge("bca");
  const token_id = await box.token("4556557955726624");
  const card = await box.charge("card_3ds", { credit_card: { token_id } });
  const redirect = new URL(card.redirect_url).pathname;
  await box.call("GET", redirect);
  await box.call("GET", `/pay/${transaction_id}`);
  const control = `/_sandbox/transactions/${transaction_id}/pay`;
  for (const path of [redirect, `/pay/${transaction_id}`, control]) {
    for (const site of ["cross-site", "same-site"]) {
      const { http } = await box.call("POST", path, undefined, { "Sec-Fetch-Site": site });
      assert.equal(http, 403);
    }
  }
  assert.equal((await box.status(transaction_id)).transaction_status, "pending");
  assert.equal((await box.status(card.transaction_id)).transaction_status, "pending");
});

browserTest("dashboard: updates live, and its buttons run their actions", async (test) => {
  const { box, open, takeScreenshot } = test;
  const page = await open("/");
  await page.getByText("No transactions yet").waitFor();
  assert.match(await page.locator("#curl").textContent(), new RegExp(`${box.url}/v2/charge`));
  await takeScreenshot(page, "empty");

  await box.charge("bca");
  await row(page, "order-1").getByText("Rp 44.000").waitFor();
  await row(page, "order-1").getByText("BCA").waitFor();
  await press(page, "Pay order-1");
  await row(page, "order-1").locator(".badge.settlement").waitFor();
  await row(page, "order-1").getByText("delivered · 200").waitFor();
  await page.getByText("order-1 is now: settlement").waitFor();
  // The button is gone, and the focus has moved to its row.
  await page.locator('[data-open]:focus:text-is("order-1")').waitFor();

  box.receiver.answer = () => new Response("busy", { status: 503 });
  await box.charge("gopay");
  await press(page, "Deny order-2");
  await row(page, "order-2").locator(".badge.deny").waitFor();
  await row(page, "order-2").getByText("waiting · 503").waitFor();
  await box.charge("indomaret");
  await press(page, "Expire order-3");
  await row(page, "order-3").locator(".badge.expire").waitFor();
  box.receiver.answer = () => new Response("OK");

  await box.charge("card");
  await press(page, "Settle order-4");
  await press(page, "Chargeback order-4");
  await row(page, "order-4").locator(".badge.chargeback").waitFor();
  await box.charge("card_3ds");
  await press(page, "Finish 3DS order-5");
  await row(page, "order-5").locator(".badge.capture").waitFor();
  await box.charge("card_3ds");
  await press(page, "Fail 3DS order-6");
  await row(page, "order-6").locator(".badge.deny").waitFor();
  await press(page, "Settle captured payments");
  await page.getByText("Settled: 1").waitFor();
  await box.charge("card_challenge");
  await press(page, "Approve order-7");
  await row(page, "order-7").getByText("challenge").waitFor({ state: "detached" });
  await box.charge("card_challenge");
  await press(page, "Deny order-8");
  await row(page, "order-8").locator(".badge.cancel").waitFor();
  await box.charge("card_auth");
  await press(page, "Capture order-9");
  await row(page, "order-9").locator(".badge.capture").waitFor();

  // Newest first; the filter narrows the list.
  assert.match(await page.locator("tbody").first().textContent(), /order-9/);
  await page.getByLabel("Order", { exact: true }).fill("ORDER-2");
  await row(page, "order-9").waitFor({ state: "detached" });
  await page.getByLabel("Order", { exact: true }).fill("");
  await page.getByLabel("Status").selectOption("settlement");
  await row(page, "order-2").waitFor({ state: "detached" });
  assert.equal(await page.locator("tbody").count(), 2);
  await page.getByLabel("Status").selectOption("");
  await row(page, "order-2").waitFor();
  await takeScreenshot(page, "list");
  await takeScreenshot(await open("/", { colorScheme: "dark" }), "list_dark");
  await takeScreenshot(await open("/", { viewport: { width: 375, height: 800 } }), "list_375");
});

browserTest(
  "dashboard: a row expands, and its webhook can be resent",
  async ({ box, open, takeScreenshot }) => {
    box.receiver.answer = () => new Response("no <b>way</b>", { status: 404 });
    const { transaction_id } = await box.charge("bca");
    const page = await open("/");
    await page.getByRole("link", { name: "order-1", exact: true }).click();
    await page.getByText(`"transaction_id": "${transaction_id}"`).first().waitFor();
    await page.getByText("HTTP 404 no <b>way</b>").waitFor();
    await page.getByText("Payload").click();
    box.receiver.answer = () => new Response("OK");
    await press(page, "Resend");
    await page.getByText("HTTP 200 OK").waitFor();
    await row(page, "order-1").getByText("delivered · 200").waitFor();
    // The expanded section is still expanded.
    await page.getByText("midtrans payment notification").waitFor();
    await takeScreenshot(page, "details");
    await page.getByRole("link", { name: "order-1", exact: true }).click();
    await page.getByRole("button", { name: "Resend" }).waitFor({ state: "detached" });

    // The page of the transaction shows the same content and is also live.
    await page.goto(`${box.url}/transactions/${transaction_id}`);
    await page.getByText("Payload").click();
    await press(page, "Resend");
    await page.locator("article li").nth(2).waitFor();
  },
);

browserTest(
  "dashboard: controls clock, webhook URLs and faults",
  async ({ box, open, takeScreenshot }) => {
    await box.charge("bca");
    const page = await open("/");
    await press(page, "+1 hour");
    await page.getByText("Clock advanced: +1 hour").waitFor();
    await press(page, "+1 day");
    await row(page, "order-1").locator(".badge.expire").waitFor();

    await page.getByLabel("Payments").fill(`${box.receiver.url}/elsewhere`);
    await press(page, "Save");
    await page.getByText("Webhook URLs saved.").waitFor();
    await box.charge("bca");
    await row(page, "order-2").getByText("delivered · 200").waitFor();
    assert.equal(box.hooks.at(-1)!.path, "/elsewhere");
    await box.control("settings", { notification_url: `${box.receiver.url}/third` }, "PATCH");
    await box.charge("bca");
    await page.locator('#notification_url[value$="/third"]').waitFor();

    await page.getByLabel("Operation").selectOption("charge");
    await page.getByLabel("Fault").selectOption("hidden_500");
    await page.getByLabel("Times").fill("2");
    await press(page, "Arm");
    await page.getByText("hidden_500 in charge, 2 ×").waitFor();
    await takeScreenshot(page, "faults");
    assert.equal((await box.charge("bca")).status_code, "500");
    await press(page, "Clear all");
    await page.getByText("hidden_500 in charge").waitFor({ state: "detached" });
    assert.equal((await box.charge("bca")).status_code, "201");
  },
);

browserTest("dashboard: shows why an action was rejected", async ({ box, open, allowError }) => {
  const { transaction_id } = await box.charge("bca");
  const page = await open("/");
  // Another client expires the transaction before the request of the click arrives.
  await page.route("**/pay", async (route: Json) => {
    await box.control(`transactions/${transaction_id}/expire`);
    await route.continue();
  });
  allowError(/status of 412/);
  await press(page, "Pay order-1");
  await page.getByText("not possible in the current state").waitFor();
  await row(page, "order-1").locator(".badge.expire").waitFor();
});

browserTest("dashboard: a burst of changes causes few fetches", async ({ box, open }) => {
  const page = await open("/");
  let fetches = 0;
  page.on("request", (request: Json) => fetches += Number(request.url() === `${box.url}/`));
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 30 }, () => box.charge("bca")));
  }
  await page.getByText("Latest 100 of 300").waitFor();
  await row(page, "order-300").waitFor();
  assert.equal(await page.locator("tbody").count(), 100);
  assert.ok(fetches < 150, `${fetches} fetches for 300 charges and their webhooks`);
});

browserTest(
  "3-D Secure page: asks again until the code is correct",
  async ({ box, open, takeScreenshot }) => {
    const { redirect_url, transaction_id } = await box.charge("card_3ds");
    const page = await open(redirect_url);
    await page.getByText("Sandbox code: 112233").waitFor();
    await takeScreenshot(page, "three_ds");
    await page.getByLabel("One-time password").fill("000000");
    await press(page, "Confirm");
    await page.getByText("Incorrect code").waitFor();
    await takeScreenshot(page, "three_ds_wrong");
    await page.getByLabel("One-time password").fill("112233");
    await press(page, "Confirm");
    await page.getByRole("heading", { name: "Paid" }).waitFor();
    assert.equal((await box.status(transaction_id)).transaction_status, "capture");

    const failed = await box.charge("card_3ds");
    await page.goto(failed.redirect_url);
    await press(page, "Fail authentication");
    await page.getByRole("heading", { name: "Denied" }).waitFor();
    await page.getByText("3DS Authentication Denied").waitFor();

    for (
      const [number, heading] of [["4556557955726624", "Paid"], ["4716125059847899", "Denied"]]
    ) {
      const token_id = await box.token(number!);
      await page.goto((await box.charge("card_3ds", { credit_card: { token_id } })).redirect_url);
      await press(page, "Continue");
      await page.getByRole("heading", { name: heading }).waitFor();
    }
    const token_id = await box.token("4024007176265022");
    await page.goto((await box.charge("card_3ds", { credit_card: { token_id } })).redirect_url);
    await page.getByLabel("One-time password").fill("112233");
    await press(page, "Confirm");
    await page.getByRole("heading", { name: "Waiting for the bank's decision" }).waitFor();
  },
);

browserTest(
  "payment pages: bank, store, wallet and pay-later show the payment and its result",
  async ({ box, open, takeScreenshot }) => {
    const page = await open("/");
    const start = async (kind: Parameters<typeof box.charge>[0], more?: Json) => {
      const charge = await box.charge(kind, more);
      await page.goto(`${box.url}/pay/${charge.transaction_id}`);
      return charge;
    };
    const digits = async () => await page.locator(".digits").last().textContent();

    const bank = await start("bca");
    assert.equal(await digits(), bank.va_numbers[0].va_number);
    await page.getByText("BCA virtual account").waitFor();
    await takeScreenshot(page, "bank");
    await press(page, "Transfer Rp 44.000");
    await page.getByRole("heading", { name: "Paid" }).waitFor();
    assert.equal((await box.status(bank.transaction_id)).transaction_status, "settlement");
    await takeScreenshot(page, "paid");

    const bill = await start("echannel");
    assert.equal(await digits(), bill.bill_key);
    await page.getByText("70012").waitFor();
    await press(page, "Pay Rp 44.000");
    await page.getByRole("heading", { name: "Paid" }).waitFor();

    const store = await start("alfamart");
    assert.equal(await digits(), store.payment_code);
    await takeScreenshot(page, "store");
    await press(page, "Pay at the store");
    await page.getByRole("heading", { name: "Paid" }).waitFor();

    const wallet = await box.charge("shopeepay");
    await page.goto(wallet.actions[0].url);
    await takeScreenshot(page, "wallet");
    await press(page, "Approve");
    const link = page.getByRole("link", { name: "Back to the merchant" });
    const href = new URL(await link.getAttribute("href"));
    assert.equal(href.origin, "https://shop.example");
    assert.deepEqual(Object.fromEntries(href.searchParams), {
      order_id: wallet.order_id,
      result: "success",
    });
    for (const kind of ["akulaku", "kredivo"] as const) {
      const lender = await box.charge(kind);
      await page.goto(lender.redirect_url);
      await press(page, "Reject");
      await page.getByRole("heading", { name: "Denied" }).waitFor();
    }
    await box.control(`transactions/${(await start("ovo")).transaction_id}/expire`);
    await press(page, "Approve");
    await page.getByRole("heading", { name: "Expired" }).waitFor();
  },
);

browserTest("QR codes: can be scanned and contain the qr_string of the charge", async (test) => {
  const { box, open, takeScreenshot } = test;
  // A separate library reads the codes: the library that wrote them could repeat its own error.
  const { default: jsQR } = await import(JSQR);
  const page = await open("/");
  const scan = async (url: string) => {
    // The browser decodes the image into dark and light pixels.
    const { width, pixels } = await page.evaluate(async (url: string) => {
      const response = await fetch(url);
      if (response.headers.get("content-type") !== "image/png") throw new Error("not a PNG image");
      const bitmap = await createImageBitmap(await response.blob());
      const { OffscreenCanvas } = globalThis as Json;
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      context.drawImage(bitmap, 0, 0);
      const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
      let pixels = "";
      for (let i = 0; i < data.length; i += 4) pixels += data[i] > 127 ? "1" : "0";
      return { width: bitmap.width, pixels };
    }, url);
    const data = new Uint8ClampedArray(4 * pixels.length).fill(255);
    for (let i = 0; i < pixels.length; i++) {
      if (pixels[i] === "0") data.fill(0, 4 * i, 4 * i + 3);
    }
    return jsQR(data, width, pixels.length / width)?.data;
  };
  const order_id = `odd ${HOSTILE} é`;
  const charge = await box.charge("qris", { transaction_details: { order_id } });
  for (const { url } of charge.actions) assert.equal(await scan(url), charge.qr_string);
  const gopay = await box.charge("gopay");
  assert.match(await scan(gopay.actions[0].url), /^000201.*6304/);

  await page.goto(`${box.url}/pay/${charge.transaction_id}`);
  await page.locator("img.qr").waitFor();
  assert.ok(await page.locator("img.qr").evaluate((image: Json) => image.naturalWidth > 200));
  await takeScreenshot(page, "qris");
  await page.getByLabel("Scanned with").selectOption("dana");
  await press(page, /^Pay/);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  const { issuer, transaction_type } = await box.status(charge.transaction_id);
  assert.deepEqual({ issuer, transaction_type }, { issuer: "dana", transaction_type: "off-us" });
});

browserTest(
  "pages: values sent by clients never become markup, scripts or dangerous links",
  async (test) => {
    const { box, open } = test;
    const { transaction_id } = await box.charge("gopay", {
      transaction_details: { order_id: HOSTILE },
      gopay: { callback_url: "javascript:alert(2)" },
      metadata: { "</pre><script>alert(3)</script>": HOSTILE },
      custom_field1: "<script>alert(4)</script>",
    });
    box.receiver.answer = () => new Response("</code><script>alert(5)</script>", { status: 400 });
    const page = await open("/");
    await page.getByRole("link", { name: HOSTILE, exact: true }).click();
    await page.getByText("alert(3)").first().waitFor();
    await press(page, `Deny ${HOSTILE}`);
    await page.getByText(`${HOSTILE} is now: deny`).waitFor();
    await page.getByText("alert(5)").first().waitFor();
    await page.goto(`${box.url}/pay/${transaction_id}`);
    await page.getByText(HOSTILE).waitFor();
    assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
    assert.equal(await page.getByRole("link", { name: "Back to the merchant" }).count(), 0);
    await page.goto(`${box.url}/?order=${encodeURIComponent(HOSTILE)}&status=${HOSTILE}`);
    assert.equal(await page.getByLabel("Order", { exact: true }).inputValue(), HOSTILE);
    assert.equal(await page.locator("img[src=x]").count(), 0);
  },
);

browserTest(
  "linking page: links a GoPay account; a large charge of the account then requires the PIN",
  async (test) => {
    const { box, open } = test;
    const linking = await box.post("/v2/pay/account", {
      payment_type: "gopay",
      gopay_partner: {
        phone_number: "81234567890",
        country_code: "62",
        redirect_url: "https://shop.example/linked",
      },
    });
    const page = await open(linking.actions[0].url);
    await page.getByLabel("PIN").fill("1");
    await press(page, "Link wallet");
    await page.getByText("Incorrect code").waitFor();
    await page.getByLabel("PIN").fill("112233");
    await press(page, "Link wallet");
    await page.getByRole("heading", { name: "Wallet linked" }).waitFor();
    const link = page.getByRole("link", { name: "Back to the merchant" });
    assert.equal(await link.getAttribute("href"), "https://shop.example/linked");

    const { metadata } = await box.get(`/v2/pay/account/${linking.account_id}`);
    const charge = await box.charge("gopay", {
      transaction_details: { gross_amount: 250_000 },
      gopay: {
        account_id: linking.account_id,
        payment_option_token: metadata.payment_options[0].token,
      },
    });
    await page.goto(charge.actions[0].url);
    await page.getByLabel("PIN").fill("000000");
    await press(page, "Approve");
    await page.getByText("Incorrect code").waitFor();
    await page.getByLabel("PIN").fill("112233");
    await press(page, "Approve");
    await page.getByRole("heading", { name: "Paid" }).waitFor();
  },
);

const INVOICE = {
  order_id: "invoice-1",
  invoice_number: "No. (1) \\",
  invoice_date: "2020-01-01 10:00:00 +0700",
  due_date: "2099-01-01 10:00:00 +0700",
  customer_details: { name: "Siti <b>(é)</b> 山" },
  item_details: [{ description: "Coffee", quantity: 2, price: 50_000, discount_percentage: 10 }],
  payment_type: "payment_link",
  payment_link: { enabled_payments: [], callbacks: { finish: "https://shop.example/thanks" } },
  amount: { shipping: 10_000 },
};

browserTest("payment link page: an invoice can be paid", async ({ box, open, takeScreenshot }) => {
  const invoice = await box.post("/v1/invoices", INVOICE);
  const page = await open(invoice.payment_link_url, { javaScriptEnabled: false });
  await page.getByRole("heading", { name: "Rp 100.000" }).waitFor();
  await page.getByText("Siti <b>(é)</b> 山").waitFor();
  await takeScreenshot(page, "payment_link");
  await page.getByLabel("QRIS").check();
  await press(page, "Continue");
  await press(page, "Pay Rp 100.000");
  await page.getByRole("link", { name: "View invoice" }).click();
  await page.locator('.badge:text-is("paid")').waitFor();
  await page.getByText("This invoice is paid").waitFor();
  const link = page.getByRole("link", { name: "Back to the merchant" });
  assert.equal(await link.getAttribute("href"), "https://shop.example/thanks");
  assert.equal((await box.get(`/v1/invoices/${invoice.id}`)).status, "paid");
});

Deno.test("invoice PDF: is well-formed with special characters", async () => {
  await using box = await openSandbox();
  const { pdf_url, id } = await box.post("/v1/invoices", INVOICE);
  const response = await fetch(pdf_url);
  assert.equal(response.headers.get("content-type"), "application/pdf");
  const text = new TextDecoder("latin1").decode(await response.bytes());
  assert.match(text, /^%PDF-1\.4\n[^]*%%EOF\n$/);
  const table = Number(text.match(/startxref\n(\d+)/)![1]);
  const offsets = text.slice(table).match(/^\d{10} 00000 n $/gm)!;
  for (const [index, offset] of offsets.entries()) {
    assert.ok(text.slice(Number(offset.slice(0, 10))).startsWith(`${index + 1} 0 obj\n`));
  }
  const [, length, content] = text.match(/Length (\d+) >>\nstream\n([^]*)\nendstream/)!;
  assert.equal(content!.length, Number(length));
  assert.ok(content!.includes(String.raw`(Invoice No. \(1\) \\)`));
  assert.ok(content!.includes(String.raw`(For Siti <b>\(é\)</b> ?)`));
  assert.match(content!, /\(Rp 100\.000\)/);
  await box.call("PATCH", `/v1/invoices/${id}/void`, {});
  assert.match(
    (await box.call("GET", `/payment-links/${id}`)).text,
    />voided<[^]*No payment is due/,
  );
});

Deno.test("dashboard: every button in a row triggers an action that succeeds", async () => {
  await using box = await openSandbox();
  const withButtons: Kind[] = ["bca", "qris", "indomaret", "alfamart"];
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const buttons = await buttonsOf(await box.charge(kind));
    assert.ok(buttons.length > 0 || !withButtons.includes(kind), kind);
    for (const action of buttons) {
      const { transaction_id } = await box.charge(kind);
      await box.control(`transactions/${transaction_id}/${action}`);
    }
  }

  async function buttonsOf({ transaction_id }: Json): Promise<string[]> {
    const { text } = await box.call("GET", "/");
    const path = `/_sandbox/transactions/${transaction_id}/`;
    return [...text.matchAll(new RegExp(`data-post="${path}(\\w+)"`, "g"))].map(([, name]) =>
      name!
    );
  }
});
