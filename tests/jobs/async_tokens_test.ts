import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { createSecretBox } from "../../core/secrets/secret_box.ts";
import { findJob } from "../../db/jobs/jobs.ts";
import { openApp } from "../support/app.ts";
import { runSql } from "../support/database/database.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const ASYNC = { Prefer: "respond-async" };

/** All rows of all tables, as text. */
async function dumpDatabase(databaseUrl: string): Promise<string> {
  const tables = await runSql(
    databaseUrl,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema')`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) => runSql(databaseUrl, `select t::text as row from ${name} t`)),
  );
  return rows.flat().map(({ row }) => row).join("\n");
}

interface CardJob {
  token: string;
  id: string;
  answer: string;
}

async function requestCardCharge(
  { post, sandbox }: RelayedPayments,
  more: Json = {},
): Promise<CardJob> {
  const body = { ...await chargeRequest(sandbox, "card"), ...more };
  const response = await post("/charge/", body, { ...ASYNC, ...newKey() });
  const answer = await response.text();
  assert.equal(response.status, 202, answer);
  return { token: body.token_id, id: JSON.parse(answer).id, answer };
}

async function jobOf({ app }: RelayedPayments, id: string) {
  return (await app.database.query((sql) => findJob(sql, id)))!;
}

/** Fails if the token is in a table, the log or a response, as plain text or encoded. */
async function assertTokenHidden(payments: RelayedPayments, { token, id, answer }: CardJob) {
  const read = await (await payments.get(`/jobs/${id}/`)).text();
  const places = {
    "the database": await dumpDatabase(payments.databaseUrl),
    "the log": JSON.stringify(payments.app.logged()),
    "a response": answer + read,
  };
  const { secret } = await jobOf(payments, id);
  for (const [place, text] of Object.entries(places)) {
    for (const encoding of ["utf8", "base64", "base64url", "hex"] as const) {
      const encoded = Buffer.from(token).toString(encoding).replaceAll("=", "");
      assert.ok(!text.includes(encoded), `the token is in ${place} as ${encoding}`);
    }
    if (secret && place !== "the database") assert.ok(!text.includes(secret), place);
  }
}

Deno.test("card token: is encrypted while its job waits, and erased after the charge", async () => {
  await using payments = await openRelayed({ env: { LOG_GATEWAY: "true" } });
  const charge = await requestCardCharge(payments);
  assert.ok((await jobOf(payments, charge.id)).secret);
  await assertTokenHidden(payments, charge);

  await runDueJobs(payments.app);
  const { status, secret, error } = await jobOf(payments, charge.id);
  assert.deepEqual([status, secret], ["succeeded", ""], error!);
  await assertTokenHidden(payments, charge);
  const sent = payments.relay.received.map(({ body }) => body).join();
  assert.ok(sent.includes(charge.token), "the gateway received the token");
});

Deno.test("card token: is kept while the job is retried, and erased when the job fails", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ now: () => now, env: { LOG_GATEWAY: "true" } });
  await payments.sandbox.fault("charge", "error_500");
  const retried = await requestCardCharge(payments);
  await runDueJobs(payments.app);
  assert.ok((await jobOf(payments, retried.id)).secret);
  now += 10_000;
  await runDueJobs(payments.app);
  assert.equal((await jobOf(payments, retried.id)).status, "succeeded");

  const { order_id } = await payments.charge("bca");
  const refused = await requestCardCharge(payments, { order_id });
  await runDueJobs(payments.app);
  const { status, secret } = await jobOf(payments, refused.id);
  assert.deepEqual([status, secret], ["failed", ""]);
  await assertTokenHidden(payments, retried);
  await assertTokenHidden(payments, refused);
});

Deno.test("card token: a job whose token was erased cannot be retried by staff", async () => {
  await using payments = await openRelayed();
  const { app, post } = payments;
  const { order_id } = await payments.charge("bca");
  const { id } = await requestCardCharge(payments, { order_id });
  await runDueJobs(app);
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const refused = await post(`/jobs/${id}/retry/`, undefined, {}, staff);
  const { detail } = await assertProblem(refused, 400, "invalid_state");
  assert.match(detail!, /token was erased/);
  assert.equal((await jobOf(payments, id)).status, "failed");
});

Deno.test("card token: after a change of the server key the job fails, and its error says why", async () => {
  await using payments = await openRelayed();
  const charge = await requestCardCharge(payments);
  await using rotated = await openApp({
    databaseUrl: payments.databaseUrl,
    gatewayUrl: payments.relay.url,
    serverKey: `Mid-server-${randomUUID()}`,
  });
  await runDueJobs(rotated);
  const { status, attempts, error, secret } = await jobOf(payments, charge.id);
  assert.deepEqual([status, attempts, secret], ["failed", 1, ""]);
  assert.match(
    error!,
    /^invalid_state: The card token can no longer be decrypted.+Send a new request\.$/,
  );
  assert.equal(payments.relay.received.length, 0);
});

Deno.test("card token: after a change of the server key the error of a job with unknown outcome does not ask for a new request", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ now: () => now });
  await payments.sandbox.fault("charge", "answer_lost");
  const { id } = await requestCardCharge(payments);
  await runDueJobs(payments.app);
  await using rotated = await openApp({
    databaseUrl: payments.databaseUrl,
    gatewayUrl: payments.relay.url,
    serverKey: `Mid-server-${randomUUID()}`,
    now: () => now,
  });
  now += 10_000;
  await runDueJobs(rotated);
  const { status, error } = await jobOf(payments, id);
  assert.equal(status, "failed");
  assert.match(error!, /can no longer be decrypted.+outcome unknown: payment [0-9a-f-]{36}/);
  assert.doesNotMatch(error!, /new request/);
});

Deno.test("card token: a repeated request with the same key restores an erased token", async () => {
  await using payments = await openRelayed();
  const body = await chargeRequest(payments.sandbox, "card");
  const headers = { ...ASYNC, ...newKey() };
  const { id } = await (await payments.post("/charge/", body, headers)).json();
  await using rotated = await openApp({
    databaseUrl: payments.databaseUrl,
    serverKey: `Mid-server-${randomUUID()}`,
  });
  await runDueJobs(rotated);
  assert.deepEqual((await jobOf(payments, id)).secret, "");

  const again = await payments.post("/charge/", body, headers);
  assert.deepEqual([again.status, (await again.json()).id], [202, id]);
  assert.ok((await jobOf(payments, id)).secret);
  await runDueJobs(payments.app);
  const { status, secret, error } = await jobOf(payments, id);
  assert.deepEqual([status, secret], ["succeeded", ""], error!);
});

Deno.test("card token: cannot be decrypted in the row of another job", async () => {
  await using payments = await openRelayed();
  const [firstCharge, secondCharge] = [
    await requestCardCharge(payments),
    await requestCardCharge(payments),
  ];
  await runSql(
    payments.databaseUrl,
    `update gateway.jobs set secret = (select secret from gateway.jobs where id = '${firstCharge.id}')
     where id = '${secondCharge.id}'`,
  );
  await runDueJobs(payments.app);
  assert.equal((await jobOf(payments, firstCharge.id)).status, "succeeded");
  assert.match((await jobOf(payments, secondCharge.id)).error!, /can no longer be decrypted/);
});

Deno.test("secret box: opens a secret only with the same key and the same context", () => {
  const box = createSecretBox("Mid-server-one");
  const secret = "48111111-1114-ü-" + randomUUID();
  const sealed = box.seal(secret, "job 1");
  assert.equal(createSecretBox("Mid-server-one").open(sealed, "job 1"), secret);
  assert.notEqual(box.seal(secret, "job 1"), sealed, "each sealing gives another text");
  assert.equal(box.open(sealed, "job 2"), null);
  assert.equal(createSecretBox("Mid-server-two").open(sealed, "job 1"), null);
  const bytes = Buffer.from(sealed, "base64url");
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed[i]! ^= 1;
    assert.equal(box.open(changed.toString("base64url"), "job 1"), null, `byte ${i}`);
    assert.equal(box.open(bytes.subarray(0, i).toString("base64url"), "job 1"), null);
  }
});
