import assert from "node:assert/strict";
import { checkAttention } from "../../core/attention/check_attention.ts";
import { createMailer, MailError } from "../../core/posting/mailer.ts";
import { parseConfig } from "../../core/config/config.ts";
import { openCheckouts } from "../support/checkouts/checkouts.ts";
import { openStaff } from "../support/console/browsing.ts";
import { runSql } from "../support/database/database.ts";
import { TEST_CERTIFICATE } from "../support/events/test_certificate.ts";
import { endJobLeases, runDueJobs } from "../support/jobs/due_jobs.ts";
import { openMailServer } from "../support/mail/mail_server.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { freePort } from "../support/free_port.ts";

const SENDER = "Kopi Kita <payments@shop.example>";
const CUSTOMER = {
  first_name: "Budi <b>",
  last_name: "& Co",
  email: "budi@customer.example",
};
const ITEMS = [{ id: "1", name: "Kopi <script>", price: 22_000, quantity: 2 }];
const ORDER = { gross_amount: 44_000, customer_details: CUSTOMER, item_details: ITEMS };

const FAILED_JOB = `
  insert into gateway.jobs (id, task, payload, status, run_at, created_at, updated_at)
  values (gen_random_uuid(), 'frown', '{}', 'failed', now(), now(), now())`;

function settings(port: number, more: Record<string, string> = {}): Record<string, string> {
  return { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: SENDER, ...more };
}

const withReceipts = (port: number) =>
  settings(port, { RECEIPT_EMAILS: "true", MERCHANT_NAME: "Kopi & Kita" });

/** The jobs that deliver events to the handlers that send mail. */
async function mailJobs({ app }: TestPayments) {
  return await app.database.query((sql) =>
    sql<{ status: string; attempts: number; error: string | null }[]>`
      select status, attempts, error from gateway.jobs where starts_with(task, 'deliver mail')
      order by created_at, id`
  );
}

Deno.test("attention mail: staff get one mail when a cause is raised and one when it is cleared", async () => {
  await using server = await openMailServer();
  const env = settings(server.port, {
    ATTENTION_EMAIL: "ops@shop.example, boss@shop.example",
    PUBLIC_URL: "https://pay.shop.example",
  });
  await using payments = await openPayments({ env });
  const { app, databaseUrl } = payments;
  for (let count = 0; count < 3; count++) {
    await runSql(databaseUrl, FAILED_JOB);
    await checkAttention(app.service);
    await runDueJobs(app);
  }
  assert.equal(server.mails.length, 1);
  const [raised] = server.mails;
  assert.deepEqual(raised!.to, ["ops@shop.example", "boss@shop.example"]);
  assert.equal(raised!.from, "payments@shop.example");
  assert.equal(raised!.headers.from, SENDER);
  assert.equal(
    raised!.headers.subject,
    "[payments] Needs attention: Jobs failed permanently",
  );
  assert.match(raised!.text, /^Jobs failed permanently\.\n/);
  assert.match(raised!.text, /What to do: Read their errors/);
  assert.ok(raised!.text.includes("https://pay.shop.example/console/jobs/?status=failed"));

  await runSql(databaseUrl, "update gateway.jobs set status = 'succeeded'");
  await checkAttention(app.service);
  await runDueJobs(app);
  assert.equal(server.mails.length, 2);
  assert.equal(
    server.mails[1]!.headers.subject,
    "[payments] Resolved: Jobs failed permanently",
  );
});

Deno.test("attention mail: if the server refuses one of two addresses, the other gets it once, and the log says so", async () => {
  const refuse = (address: string) => address.startsWith("boss") ? "450 4.2.0" : null;
  await using server = await openMailServer({ refuse });
  const env = settings(server.port, { ATTENTION_EMAIL: "ops@shop.example, boss@shop.example" });
  await using payments = await openPayments({ env });
  await runSql(payments.databaseUrl, FAILED_JOB);
  await checkAttention(payments.app.service);
  await runDueJobs(payments.app);
  assert.deepEqual(server.mails.map(({ to }) => to), [["ops@shop.example"]]);
  assert.deepEqual((await mailJobs(payments)).map(({ status }) => status), ["succeeded"]);
  const line = payments.app.logged().find(({ event }) => event === "attention_mail_refused");
  assert.equal(line?.receivers, 1);
});

Deno.test("receipts: a customer gets one for the payment and one for each refund, in both languages, with exact amounts", async () => {
  await using server = await openMailServer();
  await using payments = await openPayments({ env: withReceipts(server.port) });
  const { id, order_id } = await payments.paid("gopay", ORDER);
  await runDueJobs(payments.app);
  assert.equal(server.mails.length, 1);
  const [receipt] = server.mails;
  assert.deepEqual(receipt!.to, ["budi@customer.example"]);
  assert.equal(
    receipt!.headers.subject,
    `Bukti pembayaran / Payment receipt: ${order_id}`,
  );
  const { text, html } = receipt!;
  assert.ok(text.indexOf("Jumlah dibayar: Rp 44.000") < text.indexOf("Amount paid: Rp 44.000"));
  assert.match(text, /Halo Budi <b> & Co,/);
  assert.match(text, /Kopi <script>: 2 × Rp 22\.000/);
  assert.match(text, /Shop: Kopi & Kita/);
  assert.match(html, /<section lang="id">[\s\S]*Rp 44\.000[\s\S]*<section lang="en">/);
  assert.match(html, /Hello Budi &lt;b&gt; &amp; Co,/);
  assert.match(html, /Kopi &lt;script&gt;/);
  assert.doesNotMatch(html, /<script|<b>/);

  for (const amount of [10_000, 4_000]) {
    const response = await payments.post(`/payments/${id}/refund/`, { amount });
    assert.equal(response.status, 200, await response.text());
    await runDueJobs(payments.app);
  }
  const refunds = server.mails.slice(1);
  assert.deepEqual(refunds.map(({ headers }) => headers.subject), [
    `Bukti pengembalian dana / Refund receipt: ${order_id}`,
    `Bukti pengembalian dana / Refund receipt: ${order_id}`,
  ]);
  assert.match(refunds[0]!.text, /Amount refunded so far: Rp 10\.000/);
  assert.match(refunds[1]!.text, /Amount refunded so far: Rp 14\.000/);
  assert.equal(new Set(server.mails.map(({ headers }) => headers["message-id"])).size, 3);
});

Deno.test("receipts: have the language of the checkout", async () => {
  await using server = await openMailServer();
  await using checkouts = await openCheckouts({ env: withReceipts(server.port) });
  for (const language of ["en", "id"]) {
    const checkout = await checkouts.create({ ...ORDER, language });
    await checkouts.choose(checkout, "qris");
    const [payment] = await checkouts.paymentsOf(checkout);
    await checkouts.sandbox.control(`transactions/${payment!.order_id}/pay`);
    await checkouts.refresh(payment!.id);
  }
  await runDueJobs(checkouts.app);
  const titles = server.mails.map(({ headers }) => headers.subject!.replace(/:.*/, ""));
  assert.deepEqual(titles.toSorted(), ["Bukti pembayaran", "Payment receipt"]);
});

Deno.test("receipts: without an address, with receipts off, or for a chargeback, none is sent", async () => {
  await using server = await openMailServer();
  const databaseUrl = await (async () => {
    await using off = await openPayments({ env: settings(server.port) });
    await off.paid("gopay", ORDER);
    await runDueJobs(off.app);
    return off.databaseUrl;
  })();
  await using payments = await openPayments({ databaseUrl, env: withReceipts(server.port) });
  await payments.paid("gopay", { gross_amount: 44_000 });
  const { id, transaction_id } = await payments.paid("card", ORDER);
  await runDueJobs(payments.app);
  assert.deepEqual(server.mails.map(({ to }) => to), [["budi@customer.example"]]);
  await payments.sandbox.control(`transactions/${transaction_id}/chargeback`);
  await payments.refresh(id);
  assert.deepEqual((await payments.events(id)).slice(-1), ["payment_refunded"]);
  await runDueJobs(payments.app);
  assert.equal(server.mails.length, 1);
});

Deno.test("mail: while the server is down, requests succeed, and the mail is sent when it is up again", async () => {
  const port = freePort();
  const clock = manualClock();
  await using payments = await openPayments({ env: withReceipts(port), now: clock.now });
  await payments.paid("gopay", ORDER);
  await runDueJobs(payments.app);
  const [job] = await mailJobs(payments);
  assert.deepEqual([job!.status, job!.attempts], ["queued", 1]);
  assert.match(job!.error!, /^MailError: The (connection to the )?mail server/);
  await using server = await openMailServer({ port });
  clock.advance(60_000);
  await runDueJobs(payments.app);
  assert.equal(server.mails.length, 1);
  assert.equal((await mailJobs(payments))[0]!.status, "succeeded");
});

Deno.test("receipts: if a crash follows the server's acceptance, the repeated mail has the same Message-ID", async () => {
  await using server = await openMailServer();
  await using payments = await openPayments({ env: withReceipts(server.port) });
  await payments.paid("gopay", ORDER);
  await runDueJobs(payments.app);
  // As if the instance had crashed before it stored the result of the job.
  await payments.app.database.query((sql) =>
    sql`update gateway.jobs set status = 'running', lease_id = gen_random_uuid()
      where starts_with(task, 'deliver mail')`
  );
  await endJobLeases(payments.app);
  await runDueJobs(payments.app);
  const [first, second] = server.mails.map(({ headers }) => headers["message-id"]);
  assert.equal(server.mails.length, 2);
  assert.match(first!, /^<receipt\.[0-9a-f-]{36}@shop\.example>$/);
  assert.equal(second, first);
});

Deno.test("receipts: an address that does not exist fails no job, other refusals are retried", async () => {
  let reply = "550 5.1.1";
  await using server = await openMailServer({ refuse: () => reply });
  await using payments = await openPayments({ env: withReceipts(server.port) });
  await payments.paid("gopay", ORDER);
  await runDueJobs(payments.app);
  assert.deepEqual((await mailJobs(payments)).map(({ status }) => status), ["succeeded"]);
  const refused = payments.app.logged().find(({ event }) => event === "receipt_refused");
  assert.equal(refused?.error, "The mail server refused the sender or the receiver (550)");
  assert.doesNotMatch(JSON.stringify(refused), /customer\.example/);
  // The second is no fault of the address: the server does not relay mail of this sender.
  for (reply of ["450 4.2.0", "554 5.7.1"]) {
    await payments.paid("gopay", ORDER);
    await runDueJobs(payments.app);
    assert.equal((await mailJobs(payments)).at(-1)!.status, "queued", reply);
  }
  assert.equal(server.mails.length, 0);
});

const MAIL = { to: ["ops@shop.example"], subject: "Hello", text: "Text", id: "1" };

function mailConfig(SMTP_URL: string) {
  return parseConfig({ SMTP_URL, MAIL_FROM: SENDER }, "/project").mail!;
}

Deno.test("mail: smtps sends over TLS with a login, and only to a server with a valid certificate", async () => {
  const login = { user: "shop@mail", password: "p@ss:w/rd" };
  await using server = await openMailServer({ isEncrypted: true, login });
  const url = (password: string) =>
    `smtps://shop%40mail:${encodeURIComponent(password)}@127.0.0.1:${server.port}`;
  await createMailer(mailConfig(url(login.password)), { ca: TEST_CERTIFICATE }).send(MAIL);
  assert.equal(server.mails.length, 1);

  const errors = [
    await createMailer(mailConfig(url(login.password))).send(MAIL).catch((error) => error),
    await createMailer(mailConfig(url("wr0ng-secret")), { ca: TEST_CERTIFICATE }).send(MAIL)
      .catch((error) => error),
  ];
  for (const error of errors) {
    assert.ok(error instanceof MailError);
    assert.doesNotMatch(`${error.stack} ${Deno.inspect(error)}`, /p@ss|wr0ng|shop@mail/);
  }
  assert.match(errors[1].message, /refused the user or the password/);
  assert.equal(server.mails.length, 1);
});

Deno.test("mail: smtp logs in and sends only after STARTTLS, with a valid certificate", async () => {
  const login = { user: "shop", password: "secret" };
  await using server = await openMailServer({ hasStartTls: true, login });
  const plain = mailConfig(`smtp://shop:secret@127.0.0.1:${server.port}`);
  const config = { ...plain, server: { ...plain.server, encryption: "starttls" as const } };
  await createMailer(config, { ca: TEST_CERTIFICATE }).send(MAIL);
  assert.deepEqual(server.mails.map(({ isEncrypted }) => isEncrypted), [true]);
  await assert.rejects(createMailer(config).send(MAIL), MailError);
  assert.equal(server.mails.length, 1);
});

Deno.test("mail: without TLS, only a server on this machine gets mail", async () => {
  await using server = await openMailServer();
  const plain = mailConfig(`smtp://127.0.0.1:${server.port}`);
  assert.equal(plain.server.encryption, "none");
  await createMailer(plain).send(MAIL);
  const other = mailConfig("smtp://mail.shop.example");
  assert.equal(other.server.encryption, "starttls");
  // The same rule for a server that this machine can reach, which does not offer STARTTLS.
  const config = { ...plain, server: { ...plain.server, encryption: "starttls" as const } };
  await assert.rejects(createMailer(config).send(MAIL), /offers no TLS/);
  assert.equal(server.mails.length, 1);
});

Deno.test("mail: the password is in no setting that the console shows, in no job and in no log line", async () => {
  await using server = await openMailServer({ login: { user: "shop", password: "right" } });
  const env = {
    ...withReceipts(server.port),
    SMTP_URL: `smtp://shop:wr0ng-secret@127.0.0.1:${server.port}`,
  };
  await using payments = await openPayments({ env });
  await payments.paid("gopay", ORDER);
  await runDueJobs(payments.app);
  const jobs = await mailJobs(payments);
  assert.match(jobs[0]!.error!, /refused the user or the password in SMTP_URL/);
  const { html } = await (await openStaff(payments)).open("/console/status/");
  assert.match(html, /<dt>MAIL_FROM<\/dt>/);
  const everything = JSON.stringify([jobs, html, payments.app.logged()]);
  assert.doesNotMatch(everything, /wr0ng/);
});
