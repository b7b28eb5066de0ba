import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { METHOD_IDS } from "../../core/checkouts/methods.ts";
import { readScript, readStylesheet } from "../../pay/assets.tsx";
import { renderPage } from "../../pay/page.tsx";
import { LANGUAGES, wordsOf } from "../../pay/words.ts";
import {
  cardScreen,
  chooseScreen,
  instructionsScreen,
  pageModel,
  paidScreen,
  SCREENS,
} from "../support/pay/pages.ts";

/** Every page of the fixtures, in both languages. */
const PAGES = Object.entries(SCREENS).flatMap(([name, screen]) =>
  LANGUAGES.map((language) => ({
    name: `${name} in ${language}`,
    html: renderPage(pageModel(screen, { language })),
  }))
);

/** The most bytes of a page with its stylesheet and script, compressed. */
const MAX_BYTES = 30_000;

/** The addresses of the fixtures to which a link may lead; the page never loads them. */
const LINKED = [
  "https://shop.example.com/",
  "https://api.example.com/",
  "https://app.example.com/",
  "https://wsa.wallet.airpay.co.id/",
  "gojek://",
  "shopeeid://",
];

Deno.test("pay page: renders every screen and method in both languages, with a heading and no gaps", () => {
  for (const { name, html } of PAGES) {
    assert.match(html, /^<!DOCTYPE html><html lang="(id|en)">/, name);
    assert.equal(html.match(/<h1\b/g)?.length, 1, name);
    assert.doesNotMatch(html, /undefined|\[object|NaN|null/, name);
    assert.doesNotMatch(html.replaceAll(/<[^>]*>/g, " "), /\*/, name);
  }
});

Deno.test("pay page: has no inline script, style or handler, and no form or asset of another host", () => {
  for (const { name, html } of PAGES) {
    assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|javascript:|data:/i, name);
    assert.doesNotMatch(html, /target=|<iframe|<object|<embed|<base/i, name);
    for (const [script] of html.matchAll(/<script[^>]*>.*?<\/script>/gs)) {
      assert.equal(script, '<script src="/pay/pay.js" defer></script>', name);
    }
    for (const [, tag, address] of html.matchAll(/<(\w+)[^>]*\s(?:href|src|action)="([^"]*)"/g)) {
      const isLink = tag === "a" && LINKED.some((start) => address!.startsWith(start));
      assert.ok(isLink || /^(\/pay\/|#)/.test(address!), `${name}: ${tag} ${address}`);
    }
  }
});

Deno.test("pay page: escapes the names of the shop, the order, the customer and the items", () => {
  const hostile = `"><script>alert(1)</script>'*<img src=x onerror=alert(1)>`;
  for (const [name, screen] of Object.entries(SCREENS)) {
    const html = renderPage(pageModel(screen, {
      merchant: { name: hostile, color: hostile, logoPath: null },
      order: {
        order_id: hostile,
        gross_amount: 275_000,
        items: [{ name: hostile, price: 275_000, quantity: 1 }],
        customer_name: hostile,
      },
    }));
    assert.doesNotMatch(html, /<script>|<img src=x|"&gt;|onerror=alert\(1\)>/, name);
    assert.ok(html.includes("&lt;script&gt;alert(1)"), name);
  }
});

Deno.test("pay page: links to no address that runs code", () => {
  const unsafe = ["javascript:alert(1)", "javascript://x/%0aalert(1)", "data:text/html,x", "x"];
  for (const url of unsafe) {
    const screens = [
      instructionsScreen("gopay", { deeplink_url: url }),
      instructionsScreen("kredivo", { redirect_url: url }),
      cardScreen({ url }),
      paidScreen({ finishUrl: url }),
      chooseScreen(),
    ];
    for (const screen of screens) {
      const html = renderPage(pageModel(screen, { cancelUrl: url }));
      assert.ok(!html.includes(`href="${url}"`), url);
    }
  }
});

Deno.test("pay page: has every text in both languages", () => {
  const [first, ...others] = LANGUAGES.map((language) => shapeOf(wordsOf(language)));
  for (const other of others) assert.deepEqual(other, first);
});

/** The keys of texts, and how many parameters those of functions have. */
function shapeOf(value: unknown): unknown {
  if (typeof value === "function") return value.length;
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) {
    assert.ok(typeof value === "string" && value.trim() !== "");
    return "text";
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shapeOf(each)]));
}

Deno.test("pay page: shows amounts, times and numbers as customers write them", () => {
  const model = pageModel(instructionsScreen("bca_va"));
  const html = renderPage(model);
  assert.ok(html.includes("Rp 275.000"));
  assert.ok(html.includes("−Rp 10.000"));
  assert.match(html, /19 Nov 2026, 10\.00 WIB/);
  assert.match(renderPage({ ...model, language: "en" }), /19 Nov 2026, 10:00 WIB/);
  assert.match(html, /<span>8123<\/span><wbr\/?><span>4567<\/span>/);
  assert.ok(html.includes('data-copy="81234567890123456"'));
  assert.ok(html.includes('data-copy="275000"'));
});

Deno.test("pay page: offers each method as a form that needs no script", () => {
  const html = renderPage(pageModel(chooseScreen()));
  for (const method of METHOD_IDS) assert.ok(html.includes(`value="${method}"`), method);
  const forms = html.match(/<form[^>]*>/g)!;
  assert.equal(forms.length, METHOD_IDS.length);
  for (const form of forms) assert.match(form, /method="post" action="\/pay\/tok_en-1\?lang=id"/);
  assert.match(html, /<input[^>]*name="phone"[^>]*required/);
});

Deno.test("pay page: the field for the OVO number accepts how people write numbers, and nothing else", () => {
  const html = renderPage(pageModel(chooseScreen()));
  const pattern = html.match(/<input[^>]*name="phone"[^>]*\spattern="([^"]+)"/)?.[1];
  // As a browser compiles it.
  const expected = new RegExp(`^(?:${pattern})$`, "v");
  for (const number of ["081234567890", "+62 812-3456-7890", "(0812) 3456.7890", "0812‑3456/78"]) {
    assert.match(number, expected);
  }
  for (const wrong of ["0812345", "0812345678901234", "0812 3456 ext 78", "-"]) {
    assert.doesNotMatch(wrong, expected);
  }
});

Deno.test("pay page: orders the groups of methods as the merchant orders the methods", () => {
  const methods = (["alfamart", "bca_va", "indomaret", "qris"] as const).map((id) => ({
    id,
    min: null,
    max: null,
  }));
  const html = renderPage(pageModel(chooseScreen({ methods })));
  const shown = Array.from(html.matchAll(/name="method" value="(\w+)"/g), ([, id]) => id);
  assert.deepEqual(shown, ["alfamart", "indomaret", "bca_va", "qris"]);
});

Deno.test("pay page: shows a method whose limits exclude the amount, but offers no button", () => {
  const methods = [
    { id: "indomaret", min: 10_000, max: 200_000 } as const,
    { id: "qris", min: null, max: 10_000_000 } as const,
  ];
  const html = renderPage(pageModel(chooseScreen({ methods })));
  assert.ok(html.includes("Rp\u00a010.000 – Rp\u00a0200.000"));
  assert.ok(html.includes("Sampai Rp\u00a010\u00a0juta"));
  assert.ok(!html.includes('value="indomaret"'));
});

Deno.test("pay page: follows changes on every screen but the paid one", () => {
  for (const [name, screen] of Object.entries(SCREENS)) {
    const isLive = renderPage(pageModel(screen)).includes('data-live="yes"');
    assert.equal(isLive, screen.type !== "paid", name);
  }
});

Deno.test("pay page: is at most 30 kB with its stylesheet and script, compressed", async () => {
  const assets = sizeOf(await readStylesheet("#0f766e")) + sizeOf(await readScript());
  const sizes = PAGES.map(({ name, html }) => ({ name, bytes: sizeOf(html) + assets }));
  const [largest] = sizes.sort((a, b) => b.bytes - a.bytes);
  assert.ok(largest!.bytes <= MAX_BYTES, `${largest!.name}: ${largest!.bytes} bytes`);
});

function sizeOf(text: string): number {
  return gzipSync(text).length;
}
