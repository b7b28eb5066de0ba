import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import {
  MESSAGES_IN_INDONESIAN,
  MESSAGES_IN_PLAIN_ENGLISH,
  translateToIndonesian,
} from "../../console/words/messages.ts";
import { INDONESIAN } from "../../console/words/words.ts";
import { PUBLIC_URL } from "../support/checkouts/checkouts.ts";
import {
  type Browsing,
  type ConsolePage,
  formsOf,
  openStaff,
  signInTo,
} from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { PROJECT } from "../support/project.ts";

/** Words that English messages have, and Indonesian ones do not. */
const ENGLISH = /\b(must|is|are|be|the|not|has|have|this|with|only|such as|and|or|of)\b/i;

async function openIndonesian({ app }: TestPayments, owner = {}): Promise<Browsing> {
  const key = await app.createKey({ userId: "budi", isStaff: true, ...owner });
  const staff = await signInTo(app, key);
  await staff.post("/console/preferences/", { language: "id", path: "/" });
  return staff;
}

/** The errors that a page shows, as text. */
function errorsOf({ html }: ConsolePage): string[] {
  const shown = [
    ...html.matchAll(/<(p|div)[^>]*role="alert"[^>]*>(.*?)<\/\1>/gs),
    ...html.matchAll(/<(p)[^>]*class="field-error"[^>]*>(.*?)<\/\1>/gs),
  ];
  return shown.map(([, , text]) => text!.replaceAll(/<[^>]+>/g, " ").trim()).filter(Boolean);
}

/** Fails unless the page shows an error, and no error in English. */
function assertIndonesian(page: ConsolePage, expected: RegExp): void {
  const errors = errorsOf(page);
  assert.ok(page.status >= 400, `${page.path}: ${page.status}`);
  assert.match(errors.join("\n"), expected, page.path);
  for (const error of errors) assert.doesNotMatch(error, ENGLISH, page.path);
}

Deno.test("console in Bahasa Indonesia: the errors of forms are in Bahasa Indonesia", async () => {
  await using payments = await openPayments({
    databaseUrl: await createDatabase(),
    env: { PUBLIC_URL },
  });
  const staff = await openIndonesian(payments);
  const { id } = await payments.paid("gopay");
  const { token } = formsOf(staff.page.html)[0]!.fields;

  async function send(path: string, action: RegExp, fields: Record<string, string>) {
    await staff.open(`/console/${path}/`);
    return await staff.submit(action, fields);
  }

  const keys = (fields: Record<string, string>) =>
    send("keys", /keys/, { user_id: "shop", role: "user", name: "", ...fields });
  assertIndonesian(await keys({ user_id: "" }), /Pengguna: tidak boleh kosong/);
  assertIndonesian(await keys({ name: "a\tb" }), /Nama: tidak boleh berisi karakter kontrol/);
  assertIndonesian(await keys({ name: "x".repeat(256) }), /Nama: paling banyak 255 karakter/);
  assertIndonesian(await keys({ role: "boss" }), /Peran: harus salah satu dari user, viewer/);

  const invoice = (fields: Record<string, string>) =>
    send("invoices/new", /new/, {
      step: "create",
      customer_name: "Budi",
      "items.0.description": "Kopi",
      "items.0.price": "75000",
      amount: "75000",
      ...fields,
    });
  const invalid = await invoice({
    customer_name: "",
    customer_email: "budi",
    customer_phone: "0812",
    due_date: "2026-02-30",
    order_id: "..",
    "items.0.price": "7,5",
    "items.0.quantity": "0",
    notes: "x".repeat(1001),
  });
  assertIndonesian(invalid, /wajib diisi/);
  for (
    const text of [
      "harus berupa alamat email",
      "harus berupa nomor telepon, misalnya 0812",
      "harus berupa tanggal, misalnya 2026-12-31",
      "hanya boleh berisi huruf, angka",
      "harus berupa jumlah paling banyak Rp 99.999.999, misalnya 75.000",
      "harus berupa bilangan bulat dari 1 sampai 99.999.999",
      "paling banyak 1000 karakter",
    ]
  ) assert.ok(errorsOf(invalid).includes(text) || errorsOf(invalid).join().includes(text), text);
  assertIndonesian(await invoice({ due_date: "2020-01-01" }), /harus hari ini atau setelahnya/);
  const none = { "items.0.description": "", "items.0.price": "" };
  assertIndonesian(await invoice(none), /tidak boleh kosong/);
  const free = { "items.0.price": "0", amount: "0" };
  assertIndonesian(await invoice(free), /jumlahnya harus lebih dari 0/);
  const taken = { invoice_number: "INV-1", order_id: "order-id-1" };
  assert.equal((await invoice(taken)).status, 200);
  assertIndonesian(await invoice({ ...taken, order_id: "" }), /sudah dipakai invoice lain/);
  const sameOrder = await invoice({ ...taken, invoice_number: "" });
  assertIndonesian(sameOrder, /ID pesanan order-id-1 sudah dipakai/);

  const checkout = (fields: Record<string, string>) =>
    send("checkouts/new", /new/, {
      step: "create",
      gross_amount: "75000",
      amount: "75000",
      ...fields,
    });
  const invalidCheckout = await checkout({
    gross_amount: "7,5",
    order_id: "..",
    expires_at: "x",
    "customer_details.email": "budi",
    language: "fr",
    finish_url: "shop",
  });
  assertIndonesian(invalidCheckout, /harus berupa jumlah dari Rp 1 sampai/);
  for (const text of ["hanya boleh berisi huruf", "harus berupa waktu", "harus berupa URL"]) {
    assert.ok(errorsOf(invalidCheckout).join().includes(text), text);
  }
  const past = { expires_at: "2020-01-01T10:00" };
  assertIndonesian(await checkout(past), /harus dari 2 menit sampai 30 hari ke depan/);
  assertIndonesian(await checkout({ cancel_url: "http://shop.example" }), /harus diawali https:/);
  const sameId = { order_id: "order-id-1" };
  assertIndonesian(await checkout(sameId), /ID pesanan order-id-1, atau salah satu dari/);

  const refund = (amount: string) => send(`payments/${id}/refund`, /refund/, { amount });
  assertIndonesian(await refund("1,5"), /Jumlah yang dikembalikan: harus berupa jumlah dari Rp 1/);
  const tooMuch = /Jumlah yang dikembalikan: paling banyak Rp 44\.000, yaitu sisa/;
  assertIndonesian(await refund("44001"), tooMuch);

  const webhook = (fields: Record<string, string>) => send("webhooks/new", /new/, fields);
  const urls: Record<string, RegExp> = {
    "": /URL: tidak boleh kosong/,
    "shop": /harus berupa URL/,
    "ftp://shop.example/": /harus diawali https:/,
    "https://a:b@shop.example/": /nama pengguna atau kata sandi/,
    "https://shop.example/#a": /fragmen/,
  };
  for (const [url, expected] of Object.entries(urls)) {
    assertIndonesian(await webhook({ url }), expected);
  }
  const long = { url: "https://shop.example/", description: "x".repeat(501) };
  assertIndonesian(await webhook(long), /paling banyak 500 karakter/);

  const upload = async (file: string | null, more: Record<string, string> = {}) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ token: token!, ...more })) form.set(name, value);
    if (file !== null) form.set("file", new File([file], "report.csv"));
    return await staff.post("/console/reconciliations/", form);
  };
  assertIndonesian(await upload(null), /belum dipilih; pilih laporan/);
  assertIndonesian(await upload(""), /Tidak ada isi berkas yang digunakan.*kosong/);
  assertIndonesian(await upload("order_id,amount\nA,x\n"), /baris 2: memiliki jumlah yang tidak/);
  assertIndonesian(await upload("order_id,amount\nA\n"), /baris 2: memiliki 1 sel/);
  assertIndonesian(await upload("a;b\n1;2\n"), /sebutkan nama kolom amount; berkas berisi/);
  const named = { column_fee: "Biaya" };
  assertIndonesian(await upload("order_id,amount\nA,1\n", named), /tidak memiliki kolom/);
});

Deno.test("console in Bahasa Indonesia: a database is a basis data, and a Mandiri bill has the name of its method", () => {
  const texts: string[] = [];
  const collect = (value: unknown) => {
    if (typeof value === "string") texts.push(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect([INDONESIAN, MESSAGES_IN_INDONESIAN]);
  assert.ok(texts.length > 500);
  assert.deepEqual(texts.filter((text) => /\bdatabase\b/i.test(text)), []);
  const mandiri = translateToIndonesian(
    "Mandiri bills have no refunds; return the money by bank transfer.",
  );
  assert.ok(mandiri.includes(INDONESIAN.methods.echannel), mandiri);
});

Deno.test("console in Bahasa Indonesia: the errors of filters are in Bahasa Indonesia", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const staff = await openIndonesian(payments);
  const pages: Record<string, RegExp> = {
    "payments/?q=ab": /Cari: paling sedikit 3 karakter/,
    "payments/?from=kemarin": /Dibuat dari: harus berupa waktu/,
    "payments/?from=2026-03-05&to=2026-03-01": /Dibuat sampai: harus setelah awal periode/,
    "payments/?min_amount=x": /Jumlah dari \(Rp\): harus berupa jumlah dari Rp 1 sampai/,
    "payments/?min_amount=1000": /Jumlah dari \(Rp\): memerlukan periode paling lama 31 hari/,
    "payments/?min_amount=9&max_amount=1&from=2026-03-05&to=2026-03-06":
      /tidak boleh kurang dari batas awal/,
    "payments/?customer_email=budi": /Email: harus berupa alamat email/,
    "payments/?customer_phone=12": /Telepon: harus berupa nomor telepon/,
    "payments/?va_number=abc": /harus berupa nomor virtual account/,
    "payments/?status=paid": /Status: harus salah satu dari pending/,
    "payments/?payment_type=gopai": /tidak dikenal; maksud Anda gopay/,
    "payments/?invoice_id=7": /harus berupa UUID/,
    "payments/?cursor=x": /mulai dari halaman pertama/,
    "payments/export/?q=ab": /paling sedikit 3 karakter/,
    "checkouts/?from=x": /Dibuat dari: harus berupa waktu/,
    "checkouts/?status=x": /harus salah satu dari/,
    "invoices/?due_from=x": /harus berupa tanggal/,
    "invoices/?due_from=2026-03-05&due_to=2026-03-01": /tidak boleh kurang dari batas awal/,
    "subscriptions/?status=x": /harus salah satu dari/,
    "events/?resource=x": /harus berupa ID pembayaran, invoice, atau langganan/,
    "events/?from=x": /Dari: harus berupa tanggal, misalnya 2026-11-16/,
    "notifications/?to=x": /Sampai: harus berupa tanggal/,
    "reports/?from=2026-03-05&to=2026-03-01": /Sampai: harus setelah awal periode/,
    "reports/?from=2020-01-01&to=2026-03-06&interval=hour": /Interval: lebih dari \d+ interval/,
  };
  const english = await openStaff(payments);
  for (const [path, expected] of Object.entries(pages)) {
    assertIndonesian(await staff.open(`/console/${path}`), expected);
    const errors = errorsOf(await english.open(`/console/${path}`)).join();
    assert.doesNotMatch(errors, /_(from|to|amount|id|email|phone|number)\b/, path);
  }
});

Deno.test("console in Bahasa Indonesia: problems of actions say in Bahasa Indonesia what to do", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const staff = await openIndonesian(payments);
  const payment = await payments.paid("gopay");
  const { token } = formsOf(staff.page.html)[0]!.fields;
  const { transaction_status, fraud_status, refund_amount } = payment;
  const forged = {
    token: token!,
    shown: `${transaction_status} ${fraud_status ?? "-"} ${refund_amount} 0`,
  };
  const act = (action: string, fields = {}) =>
    staff.post(`/console/payments/${payment.id}/${action}/`, {
      ...forged,
      key: randomUUID(),
      ...fields,
    });
  const expired = await act("expire");
  assertIndonesian(expired, /Hanya pembayaran yang menunggu yang dapat diakhiri/);
  assertIndonesian(await act("approve"), /perlu ditinjau yang dapat disetujui/);
  assertIndonesian(await act("expire", { shown: "x" }), /Data ini telah berubah/);
  assertIndonesian(await act("expire", { key: "" }), /buka lagi formulir/);
  assertIndonesian(await act("expire", { token: "x" }), /berasal dari situs lain/);
  const nowhere = await staff.open("/console/nowhere/");
  assert.equal(nowhere.status, 404);
  assertIndonesian(nowhere, /Halaman ini tidak ada/);
  const missing = await staff.open(`/console/payments/${randomUUID()}/`);
  assertIndonesian(missing, /tidak ada, atau sudah dihapus/);

  const keys = await staff.open("/console/keys/");
  const [, own] = keys.html.match(/\/keys\/(gk_[\w-]{8})\/revoke\//)!;
  const revoked = await staff.post(`/console/keys/${own}/revoke/`, { token: token! });
  assertIndonesian(revoked, /adalah key staf terakhir/);

  const viewer = await openIndonesian(payments, { isStaff: false, isViewer: true });
  const { token: viewers } = formsOf(viewer.page.html)[0]!.fields;
  const refused = await viewer.post(`/console/payments/${payment.id}/expire/`, {
    ...forged,
    token: viewers!,
  });
  assertIndonesian(refused, /Anda tidak diizinkan melakukan ini/);
});

Deno.test("messages: a message that is not known stays as it is, and values stay in it", () => {
  assert.equal(translateToIndonesian("something else"), "something else");
  assert.equal(translateToIndonesian("must be at most 7 characters"), "paling banyak 7 karakter");
  assert.equal(translateToIndonesian("must be at most 7"), "paling banyak 7");
  assert.equal(translateToIndonesian("must be one of $&, {}"), "harus salah satu dari $&, {}");
  assert.equal(
    translateToIndonesian('has an invalid time: "x\ny"; use 2026-03-05 or 2026-03-05 10:15:00'),
    'memiliki waktu yang tidak valid: "x\ny"; pakai 2026-03-05 atau 2026-03-05 10:15:00',
  );
});

Deno.test("messages: every message of the table occurs in the code, and its values in the translation", async () => {
  const code: string[] = [];
  for (const folder of ["core", "http", "routes", "console"]) {
    await readCode(join(PROJECT, folder), code);
  }
  // Long texts are written in several parts.
  const text = code.join("\n").replaceAll(/["`] \+\s*["`]/g, "");
  const tables = [MESSAGES_IN_INDONESIAN, MESSAGES_IN_PLAIN_ENGLISH];
  for (const [message, translation] of tables.flatMap(Object.entries<string>)) {
    // Some messages are put together from sentences and clauses.
    for (const part of message.split(/\{\}|(?<=[.,;]) /).map((each) => each.trim())) {
      assert.ok(text.includes(part), `${message}: ${part}`);
    }
    const values = (text: string) => text.split("{}").length - 1;
    assert.ok(values(translation) <= values(message), message);
  }
});

async function readCode(folder: string, found: string[]): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) await readCode(path, found);
    else if (/\.tsx?$/.test(name) && name !== "messages.ts") {
      found.push(await Deno.readTextFile(path));
    }
  }
}
