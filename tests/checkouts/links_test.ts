import assert from "node:assert/strict";
import { createLinks } from "../../core/secrets/links.ts";
import { ensureLinkSecret } from "../../db/access/link_secret.ts";
import { openCheckouts, PUBLIC_URL } from "../support/checkouts/checkouts.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments } from "../support/payments/payments.ts";
import { createDataFolder } from "../support/project.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const ID = "0197a3d0-1c2b-7e44-9a6f-3b8d5e7c1f21";

Deno.test("link: leads to its checkout or payment, and only with the installation's own secret", () => {
  const links = createLinks(new Uint8Array(32).fill(1), () => PUBLIC_URL);
  const others = createLinks(new Uint8Array(32).fill(2), () => PUBLIC_URL);
  for (const kind of ["checkout", "payment"] as const) {
    const token = new URL(links.url({ kind, id: ID })!).pathname.split("/").at(-1)!;
    assert.deepEqual(links.read(token), { kind, id: ID });
    assert.equal(others.read(token), null);
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === "A" ? "B" : "A";
      const forged = token.slice(0, at) + other + token.slice(at + 1);
      assert.equal(links.read(forged), null, forged);
    }
  }
  for (const token of ["", "x", "A".repeat(44), "A".repeat(43), "ä".repeat(44)]) {
    assert.equal(links.read(token), null, token);
  }
});

Deno.test("link: without PUBLIC_URL, a checkout names the setting and a charge has no page", async () => {
  await using payments = await openPayments();
  const response = await payments.post("/checkouts/", { gross_amount: 10_000 });
  assert.equal(response.status, 503);
  const problem = await response.json();
  assert.deepEqual([problem.code, problem.setting], ["unavailable", "PUBLIC_URL"]);
  const { payment_page_url } = await payments.charge("bca");
  assert.equal(payment_page_url, null);
});

Deno.test("link: is made from PUBLIC_URL, whatever the Host header says", async () => {
  await using checkouts = await openCheckouts();
  const response = await checkouts.app.fetchUnchecked(
    new Request("http://evil.example/checkouts/", {
      method: "POST",
      headers: {
        "Authorization": `Bearer ${checkouts.key}`,
        "Content-Type": "application/json",
        "Host": "evil.example",
      },
      body: JSON.stringify({ gross_amount: 10_000 }),
    }),
  );
  const { checkout_url } = await response.json();
  assert.ok(checkout_url.startsWith(`${PUBLIC_URL}/pay/`), checkout_url);
});

Deno.test("link: the owner and staff get it in direct answers; lists, events and viewers do not", async () => {
  await using checkouts = await openCheckouts();
  const { app } = checkouts;
  const checkout = await checkouts.create();
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const viewer = await app.createKey({ userId: "eve", isViewer: true } as never);
  const urlFor = async (key: string) =>
    (await (await checkouts.get(`/checkouts/${checkout.id}/`, key)).json()).checkout_url;
  assert.equal(await urlFor(checkouts.key), checkout.checkout_url);
  assert.equal(await urlFor(staff), checkout.checkout_url);
  assert.equal(await urlFor(viewer), null);
  const [listed] = await (await checkouts.get("/checkouts/")).json();
  assert.equal(listed.checkout_url, null);

  const payment = await checkouts.charge("bca");
  assert.ok(payment.payment_page_url!.startsWith(`${PUBLIC_URL}/pay/`));
  const events = await app.database.query((sql) => sql`select data from gateway.events`);
  assert.ok(events.length > 0);
  for (const { data } of events) assert.equal(data.payment_page_url, null);
});

for (const [kind, address] of [["card_3ds", "redirect_url"], ["dana", "deeplink_url"]] as const) {
  Deno.test(`link: the page of a ${kind} charge leads the customer to where it is confirmed`, async () => {
    await using checkouts = await openCheckouts();
    const payment = await checkouts.charge(kind);
    assert.equal(payment.transaction_status, "pending");
    const page = await (await checkouts.app.fetchUnchecked(new Request(payment.payment_page_url!)))
      .text();
    const links = [...page.matchAll(/<a class="button main" href="([^"]+)"/g)];
    assert.deepEqual(links.map(([, url]) => url), [payment[address]]);
    assert.doesNotMatch(page, /\/return/);
  });
}

Deno.test("link: the same request with the same key gets the same link", async () => {
  await using checkouts = await openCheckouts();
  const send = async () =>
    await (await checkouts.post("/checkouts/", { gross_amount: 10_000 }, {
      "Idempotency-Key": "same",
    })).json();
  const first = await send();
  const again = await send();
  assert.deepEqual([again.id, again.checkout_url], [first.id, first.checkout_url]);
});

Deno.test("link: leads nowhere 30 days after the end", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const checkout = await checkouts.create();
  assert.equal((await checkouts.post(`/checkouts/${checkout.id}/cancel/`)).status, 200);
  advance(30 * DAY_MS - 1_000);
  await checkouts.page(checkout);
  advance(2_000);
  const response = await checkouts.app.fetchUnchecked(new Request(checkout.checkout_url!));
  assert.equal(response.status, 404);
  assert.match(response.headers.get("content-type")!, /^text\/html/);
  assert.match(await response.text(), /Pembayaran tidak ditemukan/);
});

Deno.test("link: guesses are limited by address, and links are not", async () => {
  await using checkouts = await openCheckouts({
    env: { RATE_LIMIT_PER_SECOND: "1", RATE_LIMIT_BURST: "5" },
  });
  const checkout = await checkouts.create();
  const guess = () =>
    checkouts.app.fetchUnchecked(new Request(`${PUBLIC_URL}/pay/${"A".repeat(44)}`));
  const statuses: number[] = [];
  for (let count = 0; count < 7; count++) statuses.push((await guess()).status);
  assert.deepEqual(statuses.slice(0, 5), [404, 404, 404, 404, 404]);
  assert.ok(statuses.includes(429), statuses.join(" "));
  await checkouts.page(checkout);
});

Deno.test("link: its token is in no line of the log", async () => {
  await using checkouts = await openCheckouts({ env: { LOG_GATEWAY: "true" } });
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  await checkouts.change(checkout);
  const token = new URL(checkout.checkout_url!).pathname.split("/").at(-1)!;
  const log = JSON.stringify(checkouts.app.logged());
  assert.ok(log.includes("/pay/"));
  assert.ok(!log.includes(token));
});

Deno.test("secret of links: is created once, and instances share it", async () => {
  await using checkouts = await openCheckouts();
  const { database } = checkouts.app;
  const secrets = await Promise.all(
    Array.from({ length: 8 }, () => database.query(ensureLinkSecret)),
  );
  assert.equal(new Set(secrets.map((secret) => secret.toString())).size, 1);
  assert.equal(secrets[0]!.length, 32);
});

Deno.test("page: has strict headers and no cookie", async () => {
  await using checkouts = await openCheckouts();
  const { checkout_url } = await checkouts.create();
  const { headers } = await checkouts.app.fetchUnchecked(new Request(checkout_url!));
  assert.equal(headers.get("set-cookie"), null);
  assert.equal(headers.get("cache-control"), "no-store");
  assert.equal(headers.get("referrer-policy"), "no-referrer");
  assert.match(headers.get("x-robots-tag")!, /noindex/);
  assert.match(headers.get("content-security-policy")!, /default-src 'none'/);
  assert.match(headers.get("content-security-policy")!, /frame-ancestors 'none'/);
});

Deno.test("page: shows the merchant's logo, whose scripts never run", async () => {
  await using folder = await createDataFolder();
  const MERCHANT_LOGO = `${folder.path}/logo`;
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  await Deno.writeTextFile(MERCHANT_LOGO, svg);
  await using checkouts = await openCheckouts({
    env: { PUBLIC_URL: `${PUBLIC_URL}/shop`, MERCHANT_LOGO },
  });
  const checkout = await checkouts.create();
  const { payment_page_url } = await checkouts.charge("bca");
  const { app } = checkouts;
  for (const url of [checkout.checkout_url!, payment_page_url!]) {
    const page = await (await app.fetchUnchecked(new Request(url.replace("/shop", "")))).text();
    assert.match(page, /<img class="logo" src="\/shop\/pay\/logo" alt=""/);
    assert.match(page, /<link rel="icon" href="\/shop\/pay\/logo"/);
  }

  const response = await app.fetchUnchecked(new Request(`${PUBLIC_URL}/pay/logo`));
  assert.equal(await response.text(), svg);
  const { headers } = response;
  assert.equal(headers.get("content-type"), "image/svg+xml");
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.match(headers.get("content-security-policy")!, /^sandbox; default-src 'none'; /);
  assert.doesNotMatch(headers.get("content-security-policy")!, /script|allow/);
});

Deno.test("page: has no logo without the setting", async () => {
  await using checkouts = await openCheckouts();
  assert.doesNotMatch(await checkouts.page(await checkouts.create()), /<img/);
  const response = await checkouts.app.fetchUnchecked(new Request(`${PUBLIC_URL}/pay/logo`));
  assert.equal(response.status, 404);
});

Deno.test("page: it and its files are sent compressed, to browsers that accept it", async () => {
  await using checkouts = await openCheckouts();
  const { checkout_url } = await checkouts.create();
  const load = (url: string, encodings: string) => {
    const headers = { "Accept-Encoding": encodings };
    return checkouts.app.fetchUnchecked(new Request(url, { headers }));
  };
  for (const url of [checkout_url!, `${PUBLIC_URL}/pay/pay.css`, `${PUBLIC_URL}/pay/pay.js`]) {
    const plain = await load(url, "identity");
    assert.equal(plain.headers.get("content-encoding"), null);
    const text = await plain.text();
    const packed = await load(url, "gzip, deflate, br");
    assert.equal(packed.headers.get("content-encoding"), "gzip");
    assert.match(packed.headers.get("vary")!, /accept-encoding/i);
    const bytes = await packed.bytes();
    assert.ok(bytes.length < text.length / 2, `${bytes.length} of ${text.length} bytes`);
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    assert.equal((await new Response(unpacked).text()).length, text.length);
  }
});
