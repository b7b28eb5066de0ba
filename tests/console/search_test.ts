import assert from "node:assert/strict";
import { browserTest, openConsole } from "../support/console/browser.ts";
import { openStaff, orderIdsIn } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openPayments } from "../support/payments/payments.ts";

/** Order ids are the prefix and the numbers 1 to `count`. */
const insertPayments = (prefix: string, count: number) =>
  `insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type,
     gross_amount, currency, transaction_status, sent_at, created_at, updated_at)
   select uuidv7(), 'alice', '${prefix}' || lpad(n::text, greatest(4, length(n::text)), '0'), gen_random_uuid(), 'qris', 1000,
     'IDR', 'pending', now(), now(), now()
   from generate_series(1, ${count}) n order by n`;

Deno.test("console search: has pages, says when more than 1,000 payments match, and what was searched if none does, in both languages", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  await runSql(payments.databaseUrl, insertPayments("ORDER-", 1_050));
  const staff = await openStaff(payments);
  const search = async (q: string, more = {}) => {
    const { html } = await staff.open(
      `/console/payments/?${new URLSearchParams({ q, ...more })}`,
    );
    return html;
  };
  const first = await search("rder-");
  assert.equal(orderIdsIn(first)[0], "ORDER-1050");
  assert.match(first, /More payments match\. The search considers the newest 1,000/);
  const cursor = first.match(/class="next" href="[^"]*cursor=([\w-]+)/)![1]!;
  assert.equal(orderIdsIn(await search("rder-", { cursor }))[0], "ORDER-1000");
  assert.doesNotMatch(await search("rder-09"), /More payments match/);

  assert.match(
    await search("nosuch"),
    /No payment matches “nosuch”\..*Searched in: order id, transaction id, email, name\./s,
  );
  assert.match(await search("9988"), /name, whole phone number, virtual account, amount, last/);
  // A text without letters and digits cannot use the index, which the database has.
  assert.match(await search("****"), /No payment matches “\*{4}”/);
  assert.doesNotMatch(await search("****"), /pg_trgm/);
  await staff.post("/console/preferences/", { language: "id", path: "/" });
  assert.match(await search("rder-"), /Masih ada pembayaran lain yang cocok.*1\.000 yang terbaru/);
  assert.match(
    await search("9988"),
    /Tidak ada pembayaran yang cocok dengan “9988”\..*Dicari di: ID pesanan, ID transaksi, email, nama, nomor telepon lengkap/s,
  );

  // More payments than are compared one by one, without an index.
  await runSql(payments.databaseUrl, insertPayments("OTHER-", 20_001));
  await runSql(payments.databaseUrl, "drop index gateway.payment_search_keys_by_trigram");
  const indonesian = await search("rder-0001");
  assert.doesNotMatch(indonesian, /Tidak ada pembayaran yang cocok/);
  assert.match(indonesian, /tidak ditemukan, tetapi tidak semua pembayaran lama.*pg_trgm/s);
  await staff.post("/console/preferences/", { language: "en", path: "/" });
  const english = await search("rder-0001");
  assert.doesNotMatch(english, /No payment matches/);
  assert.match(english, /was not found, but not all older payments could be searched\..*pg_trgm/s);
  assert.match(await search("ther-1"), /More payments match/);
});

browserTest(
  "the key / focuses the search on every page, but not while the user types",
  async () => {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const page = await browser.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    await page.goto(`${url}/refunds/`);
    await page.keyboard.press("/");
    await page.waitForURL(`${url}/payments/#q`);
    const focused = page.locator("#q:focus");
    await focused.waitFor();
    await page.keyboard.type("a/b");
    assert.equal(await page.inputValue("#q"), "a/b");
    await page.locator("#q").blur();
    await page.keyboard.press("/");
    await focused.waitFor();
    await page.keyboard.type("new");
    assert.equal(await page.inputValue("#q"), "new", "the old text was selected");
    await page.context().close();
  },
);
