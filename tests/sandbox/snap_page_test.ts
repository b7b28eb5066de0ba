/** The hosted Snap page, by requests and in a browser. */

import assert from "node:assert/strict";
import { openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { browserTest, press } from "../support/gateway/sandbox_browser.ts";
import {
  CARDS,
  confirmCode,
  enterCard,
  openPage,
  pageOf,
  pay,
  SNAP_PATH,
} from "../support/gateway/snap.ts";

const PREFERENCES = "/snap/v3/merchant-preferences";

const path = (token: string, query = "?language=en") => `/snap/v3/redirection/${token}${query}`;

/** Sends the form of the page, as a browser does. */
async function submit(box: TestSandbox, target: string, fields: Record<string, string>) {
  const response = await fetch(box.url + target, {
    method: "POST",
    body: new URLSearchParams(fields),
    redirect: "manual",
  });
  await response.body?.cancel();
  return { http: response.status, location: response.headers.get("location") };
}

const ENTRY = { number: CARDS.accepted, expiry: "12/40", cvv: "123" };

Deno.test("snap page: both paths show it, and unknown tokens get 404", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  for (const target of [path(token), `/snap/v2/vtweb/${token}?language=en`]) {
    const { http, headers, text } = await box.call("GET", target);
    assert.equal(http, 200);
    assert.match(text, /Card number/);
    assert.match(headers.get("content-security-policy")!, /frame-ancestors \*$/);
    assert.equal(headers.get("cache-control"), "no-store");
  }
  const unknown = await box.call("GET", path("unknown"));
  assert.equal(unknown.http, 404);
  assert.match(unknown.text, /Payment not found/);
  assert.equal((await box.call("GET", "/snap/v3/redirection/unknown/result")).http, 404);
});

Deno.test("snap page: the language is the one of the URL, or else the account's", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  const shown = async (query: string) => (await box.call("GET", path(token, query))).text;
  assert.match(await shown(""), /<html lang="id">[^]*Nomor kartu/);
  assert.match(await shown("?language=en"), /<html lang="en">[^]*Card number/);
  assert.match(await shown("?language=xx"), /Nomor kartu/);
  await box.call("PATCH", PREFERENCES, { locale: "en" });
  assert.match(await shown(""), /Card number/);
  assert.match(await shown("?language=id"), /Nomor kartu/);
});

Deno.test("snap page: GET changes nothing, and a POST from another site is rejected", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  await box.call("GET", path(token));
  await box.call("GET", path(token, "/result"));
  const { http } = await box.call("POST", path(token), undefined, {
    "Sec-Fetch-Site": "cross-site",
  });
  assert.equal(http, 403);
  assert.equal((await pageOf(box, token)).state, "open");
});

Deno.test("snap page: hides the order id if the account's preferences say so", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "secret-order");
  assert.match((await box.call("GET", path(token))).text, /secret-order/);
  await box.call("PATCH", PREFERENCES, { hide_order_id: true });
  assert.doesNotMatch((await box.call("GET", path(token))).text, /secret-order/);
});

Deno.test("snap page: names the requested methods that it does not have", async () => {
  await using box = await openSandbox();
  const shown = async (enabled_payments: string[]) => {
    const token = await openPage(box, "A-1", { enabled_payments });
    return (await box.call("GET", path(token))).text;
  };
  const text = await shown(["credit_card", "qris", "akulaku", "kredivo"]);
  assert.match(text, /Not available in this sandbox: akulaku, kredivo/);
  assert.doesNotMatch(await shown(["credit_card", "qris"]), /Not available/);
});

Deno.test("snap page: names the wrong field, without repeating what was entered", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1", { credit_card: { blacklist_bins: ["5211"] } });
  const wrong: [Record<string, string>, string][] = [
    [{ number: "4811111111111115" }, "number"],
    [{ expiry: "13/40" }, "expiry"],
    [{ expiry: "12/20" }, "expiry"],
    [{ cvv: "1" }, "cvv"],
    [{ number: "5211111111111117" }, "not_accepted"],
    [{ number: "4723249479082225" }, "outdated"],
  ];
  for (const [more, problem] of wrong) {
    const { http, location } = await submit(box, path(token), { ...ENTRY, ...more });
    assert.deepEqual([http, location], [303, path(token, `?problem=${problem}&language=en`)]);
    const { text } = await box.call("GET", location!);
    assert.match(text, /role="alert"/);
    for (const entered of Object.values(more)) {
      assert.doesNotMatch(text, new RegExp(`value="${entered}`));
    }
  }
  assert.equal((await box.status("A-1")).status_code, "404");
});

Deno.test("snap page: does not offer a card whose payment failed", async () => {
  await using box = await openSandbox();
  const user = { user_id: "u-1", credit_card: { save_card: true } };
  const isOffered = async (order: string) => {
    const { text } = await box.call("GET", path(await openPage(box, order, user)));
    return text.includes("•••• 1114");
  };
  const token = await openPage(box, "A-1", user);
  await pay(box, token, { save_card: true, three_ds: "failure" });
  assert.equal(await isOffered("A-2"), false);
  await pay(box, token, { save_card: true });
  assert.equal(await isOffered("A-3"), true);
});

Deno.test("snap page: keeps no card number, in no table and no response", async () => {
  const folder = await Deno.makeTempDir({ prefix: "sandbox-" });
  const file = `${folder}/state.sqlite`;
  {
    await using box = await openSandbox({ path: file });
    const user = { user_id: "u-1", credit_card: { save_card: true } };
    const token = await openPage(box, "A-1", user);
    const sent = await submit(box, path(token), { ...ENTRY, save: "1" });
    await submit(box, sent.location!, { otp: "112233", choice: "prove" });
    assert.equal((await pageOf(box, token)).state, "paid");
    for (const target of [path(token), `/_sandbox/snap/${token}`, "/_sandbox/transactions"]) {
      assert.doesNotMatch((await box.call("GET", target)).text, new RegExp(CARDS.accepted));
    }
    await box.waitForWebhooks();
    for (const { text } of box.hooks) assert.doesNotMatch(text, new RegExp(CARDS.accepted));
  }
  for await (const { name } of Deno.readDir(folder)) {
    const bytes = await Deno.readFile(`${folder}/${name}`);
    const text = new TextDecoder("latin1").decode(bytes);
    assert.ok(!text.includes(CARDS.accepted), name);
  }
  await Deno.remove(folder, { recursive: true });
});

for (const state of ["expired", "cancelled", "replaced", "paid", "in_progress", "failed"]) {
  Deno.test(`snap page: in the state ${state}, says so and accepts no card`, async () => {
    await using box = await openSandbox();
    const token = await openPage(box, "A-1", { callbacks: { error: "https://shop.example/back" } });
    await reach(box, token, state);
    assert.equal((await pageOf(box, token)).state, state);
    const { text } = await box.call("GET", path(token));
    assert.doesNotMatch(text, /Card number/);
    assert.match(text, TITLES[state]!);
    const before = (await pageOf(box, token)).transaction_ids;
    const { http } = await submit(box, path(token), ENTRY);
    assert.equal(http, 303);
    assert.deepEqual((await pageOf(box, token)).transaction_ids, before);
  });
}

const TITLES: Record<string, RegExp> = {
  expired: /This page has expired/,
  cancelled: /Payment cancelled/,
  replaced: /This link is no longer valid/,
  paid: /This order is paid/,
  in_progress: /Payment in progress[^]*Continue to the bank/,
  failed: /Payment failed/,
};

async function reach(box: TestSandbox, token: string, state: string): Promise<void> {
  if (state === "expired") await box.advance(86_401);
  if (state === "cancelled") await box.post(`${SNAP_PATH}/${token}/cancel`);
  if (state === "replaced") await openPage(box, "A-1");
  if (state === "paid") await pay(box, token);
  if (state === "in_progress") await pay(box, token, { three_ds: "abandon" });
  if (state !== "failed") return;
  await box.call("PATCH", PREFERENCES, { allow_retry: false });
  await pay(box, token, { card_number: CARDS.denied });
}

const ORDER = {
  transaction_details: { gross_amount: 44_000 },
  item_details: [
    { name: "Kopi Gayo 250 g", price: 20_000, quantity: 2 },
    { name: "Ongkos kirim", price: 4_000, quantity: 1 },
  ],
};

browserTest("snap page: a card passes 3-D Secure, and the page shows the payment", async (test) => {
  const { box, open } = test;
  const token = await openPage(box, "A-1", ORDER);
  await test.takeScreenshots(path(token), "snap_open");
  const page = await open(path(token));
  await page.getByText("Kopi Gayo 250 g").waitFor();
  await enterCard(page, CARDS.accepted);
  await confirmCode(page);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  assert.equal((await box.status("A-1")).transaction_status, "capture");
  await test.takeScreenshots(path(token), "snap_paid");
});

browserTest("snap page: a click on a test card fills in the form", async ({ box, open }) => {
  const token = await openPage(box, "A-1");
  const page = await open(path(token));
  await page.getByText("Test cards", { exact: true }).click();
  await press(page, /4556 5579 5572 6624/);
  assert.equal(await page.getByLabel("Card number").inputValue(), "4556 5579 5572 6624");
  await press(page, /^Pay Rp/);
  await press(page, "Continue");
  await page.getByRole("heading", { name: "Paid" }).waitFor();
});

browserTest("snap page: a denied card can be followed by another one", async (test) => {
  const { box, open } = test;
  const token = await openPage(box, "A-1", ORDER);
  const page = await open(path(token));
  await enterCard(page, CARDS.denied);
  await confirmCode(page);
  await page.getByRole("alert").getByText("The payment was declined").waitFor();
  await test.takeScreenshots(path(token), "snap_denied");
  await enterCard(page, CARDS.accepted);
  await press(page, "Fail authentication");
  await page.getByRole("alert").waitFor();
  await enterCard(page, CARDS.accepted);
  await confirmCode(page);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  const { transaction_ids, failures } = await pageOf(box, token);
  assert.deepEqual([transaction_ids.length, failures], [3, 2]);
});

browserTest("snap page: without retries, a denied card ends the page", async (test) => {
  const { box, open } = test;
  await box.call("PATCH", PREFERENCES, { allow_retry: false });
  const token = await openPage(box, "A-1");
  const page = await open(path(token));
  await enterCard(page, CARDS.denied);
  await confirmCode(page);
  await page.getByRole("heading", { name: "Payment failed" }).waitFor();
  await test.takeScreenshots(path(token), "snap_failed");
});

browserTest(
  "snap page: an abandoned 3-D Secure can be continued by opening the link again",
  async (test) => {
    const { box, open } = test;
    const token = await openPage(box, "A-1");
    const page = await open(path(token));
    await enterCard(page, CARDS.accepted);
    await page.getByLabel("One-time password").waitFor();
    await page.goto(box.url + path(token));
    await test.takeScreenshots(path(token), "snap_in_progress");
    await page.getByRole("link", { name: "Continue to the bank" }).click();
    await confirmCode(page);
    await page.getByRole("heading", { name: "Paid" }).waitFor();
  },
);

browserTest(
  "snap page: a second tab that is still open cannot pay again",
  async ({ box, open }) => {
    const token = await openPage(box, "A-1");
    const first = await open(path(token));
    const second = await open(path(token));
    await enterCard(first, CARDS.accepted);
    await confirmCode(first);
    await first.getByRole("heading", { name: "Paid" }).waitFor();
    await enterCard(second, CARDS.accepted);
    await second.getByRole("heading", { name: "Paid" }).waitFor();
    assert.equal((await pageOf(box, token)).transaction_ids.length, 1);
  },
);

browserTest("snap page: a tab whose page was replaced or has expired cannot pay", async (test) => {
  const { box, open } = test;
  const page = await open(path(await openPage(box, "A-1")));
  const token = await openPage(box, "A-1");
  await enterCard(page, CARDS.accepted);
  await page.getByRole("heading", { name: "This link is no longer valid" }).waitFor();
  const other = await open(path(token));
  await box.advance(86_401);
  await enterCard(other, CARDS.accepted);
  await other.getByRole("heading", { name: "This page has expired" }).waitFor();
  assert.equal((await box.status("A-1")).status_code, "404");
  await test.takeScreenshots(path(token), "snap_expired");
});

browserTest("snap page: Google Pay pays after 3-D Secure", async (test) => {
  const { box, open } = test;
  const enabled_payments = ["credit_card", "google_pay"];
  const token = await openPage(box, "A-1", { ...ORDER, enabled_payments });
  await test.takeScreenshots(path(token), "snap_google_pay");
  const page = await open(path(token));
  await press(page, "Pay with Google Pay");
  await confirmCode(page);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  assert.equal((await box.status("A-1")).masked_card, "41111111-1111");
});

browserTest("snap page: offers the cards that the same user saved", async (test) => {
  const { box, open } = test;
  const user = { ...ORDER, user_id: "u-1", credit_card: { save_card: true } };
  const page = await open(path(await openPage(box, "A-1", user)));
  await page.getByLabel("Save this card").check();
  await enterCard(page, CARDS.accepted);
  await confirmCode(page);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  const token = await openPage(box, "A-2", user);
  await test.takeScreenshots(path(token), "snap_saved_card");
  await page.goto(box.url + path(token));
  await page.getByLabel("VISA •••• 1114").waitFor();
  await page.getByLabel("CVV").first().fill("123");
  await page.getByRole("button", { name: /^Pay Rp/ }).first().click();
  await confirmCode(page);
  await page.getByRole("heading", { name: "Paid" }).waitFor();
  await page.goto(box.url + path(await openPage(box, "A-3", { ...user, user_id: "u-2" })));
  await page.getByLabel("Card number").waitFor();
  assert.equal(await page.getByText("VISA").count(), 0);
});

browserTest("snap page: other methods lead to the screen on which they are paid", async (test) => {
  const { box, open } = test;
  const token = await openPage(box, "A-1", { ...ORDER, enabled_payments: null });
  await test.takeScreenshots(path(token, "?language=id"), "snap_all_methods");
  const page = await open(path(token));
  await page.getByLabel("QRIS").check();
  await press(page, "Continue");
  await test.takeScreenshots(path(token), "snap_other_method");
  const opened = page.waitForEvent("popup");
  await page.getByRole("link", { name: "Show how to pay" }).click();
  await press(await opened, /^Pay Rp/);
  await (await opened).getByRole("heading", { name: "Paid" }).waitFor();
  assert.equal((await pageOf(box, token)).state, "paid");
});
