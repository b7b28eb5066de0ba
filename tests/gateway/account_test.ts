import assert from "node:assert/strict";
import { join } from "node:path";
import { createCheckPaymentStatus } from "../../core/payments/check_payment_status.ts";
import { PostponeJob } from "../../core/jobs/task.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openRelay, type Relay } from "../support/gateway/relay.ts";
import { openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { chargeRequest, parsePayment, type Payment } from "../support/payments/payments.ts";
import { createDataFolder } from "../support/project.ts";

const [CHARGE, STATUS] = ["POST /v2/charge", "GET /v2/:id/status"];

const HOUR_MS = 3_600_000;

interface Account extends AsyncDisposable {
  app: TestApp;
  sandbox: TestSandbox;
  relay: Relay;
  charge(more?: object): Promise<Response>;
  /** Runs the check of a payment as a job. */
  check(id: string): Promise<unknown>;
}

/** An instance with the settings of one account. Each sandbox is a separate account. */
async function openAccount(
  databaseUrl: string,
  { now, sandbox = undefined }: { now?: () => number; sandbox?: TestSandbox } = {},
): Promise<Account> {
  const relay = openRelay();
  const target = sandbox ?? await openSandbox({ seed: undefined, serverKey: REAL_KEY });
  relay.target = target.url;
  const app = await openApp({
    databaseUrl,
    gatewayUrl: relay.url,
    serverKey: REAL_KEY,
    bindsAccount: true,
    now,
  });
  const key = await app.createKey();
  const task = createCheckPaymentStatus(app.service);
  const { signal } = new AbortController();
  return {
    app,
    sandbox: target,
    relay,
    charge: async (more = {}) =>
      await app.as(key, "/charge/", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...await chargeRequest(target, "bca"), ...more }),
      }),
    check: (id) =>
      task.run({ subject_id: id } as Parameters<typeof task.run>[0], { signal, stopping: signal }),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await relay[Symbol.asyncDispose]();
      if (!sandbox) await target[Symbol.asyncDispose]();
    },
  };
}

const REAL_KEY = "Mid-server-of-an-account";

async function chargeAndParse(account: Account): Promise<Payment> {
  return await parsePayment(await account.charge(), 201);
}

async function storedMerchant(databaseUrl: string): Promise<string | null> {
  const [row] = await runSql(databaseUrl, "select merchant_id from gateway.gateway_account");
  return row!.merchant_id;
}

function failAllCalls(relay: Relay) {
  const { intercept } = relay;
  relay.intercept = () => new Response("<h1>Bad Gateway</h1>", { status: 502 });
  return () => void (relay.intercept = intercept);
}

Deno.test("gateway account: the first response binds the database to its merchant, and the next start verifies the merchant", async () => {
  const databaseUrl = await createDatabase();
  await using account = await openAccount(databaseUrl);
  assert.equal(await storedMerchant(databaseUrl), null);
  const payment = await chargeAndParse(account);
  const path = `transactions/${payment.transaction_id}`;
  const { merchant_id } = await account.sandbox.control(path, undefined, "GET");
  assert.equal(await storedMerchant(databaseUrl), merchant_id);
  await using restarted = await openAccount(databaseUrl, { sandbox: account.sandbox });
  assert.equal(restarted.app.gateway.accountState(), "unverified");
  assert.equal(await restarted.app.gateway.verifyAccount(), "same");
  assert.deepEqual(restarted.relay.asked(), [STATUS]);
  await chargeAndParse(restarted);
  assert.deepEqual(restarted.relay.asked(), [STATUS, CHARGE], "verified once");
});

Deno.test("gateway account: a rotated server key of the same account is accepted", async () => {
  await using folder = await createDataFolder();
  const path = join(folder.path, "sandbox.sqlite");
  const databaseUrl = await createDatabase();
  {
    await using sandbox = await openSandbox({ path, serverKey: "Mid-server-old" });
    await using app = await openApp({
      databaseUrl,
      gatewayUrl: sandbox.url,
      serverKey: "Mid-server-old",
      bindsAccount: true,
    });
    const body = JSON.stringify(await chargeRequest(sandbox, "bca"));
    const headers = { "Content-Type": "application/json" };
    await parsePayment(
      await app.as(await app.createKey(), "/charge/", { method: "POST", headers, body }),
      201,
    );
  }
  await using sandbox = await openSandbox({ path, serverKey: "Mid-server-new" });
  await using app = await openApp({
    databaseUrl,
    gatewayUrl: sandbox.url,
    serverKey: "Mid-server-new",
    bindsAccount: true,
  });
  assert.equal(await app.gateway.verifyAccount(), "same");
});

Deno.test("gateway account: with another account nothing is charged, and an unanswered charge is not marked as failed", async () => {
  const databaseUrl = await createDatabase();
  await using rightAccount = await openAccount(databaseUrl);
  await chargeAndParse(rightAccount);
  rightAccount.relay.intercept = async (_request, pass) => {
    await (await pass()).body?.cancel();
    return new Response("<h1>Bad Gateway</h1>", { status: 502 });
  };
  const { payment_id: id } = await (await rightAccount.charge()).json();
  const readStatus = async () => {
    const [row] = await runSql(
      databaseUrl,
      `select transaction_status from gateway.payments where id = '${id}'`,
    );
    return row!.transaction_status;
  };
  await using wrongAccount = await openAccount(databaseUrl, { now: () => Date.now() + HOUR_MS });
  await assert.rejects(wrongAccount.check(id), PostponeJob);
  assert.equal(await readStatus(), "pending");
  const refused = await wrongAccount.charge();
  assert.equal((await refused.json()).outcome, "refused");
  assert.equal(wrongAccount.relay.times(CHARGE), 0);
  assert.equal(wrongAccount.app.gateway.accountState(), "other");
  assert.ok(wrongAccount.app.logged().some(({ event }) => event === "other_gateway_account"));

  await using rightAccountLater = await openAccount(databaseUrl, {
    now: () => Date.now() + HOUR_MS,
    sandbox: rightAccount.sandbox,
  });
  await rightAccountLater.check(id);
  assert.equal(await readStatus(), "pending", "the right account has the charge");
  assert.equal(rightAccountLater.app.gateway.accountState(), "same");
});

Deno.test("gateway account: if the gateway was down at the start, the first charge verifies the account", async () => {
  const databaseUrl = await createDatabase();
  await using boundAccount = await openAccount(databaseUrl);
  await chargeAndParse(boundAccount);
  await using rightAccount = await openAccount(databaseUrl, { sandbox: boundAccount.sandbox });
  await using wrongAccount = await openAccount(databaseUrl);
  for (const { relay, app } of [rightAccount, wrongAccount]) {
    const recover = failAllCalls(relay);
    assert.equal(await app.gateway.verifyAccount(), "unverified");
    recover();
  }
  await chargeAndParse(rightAccount);
  assert.equal((await (await wrongAccount.charge()).json()).outcome, "refused");
  assert.equal(wrongAccount.relay.times(CHARGE), 0);
});

Deno.test("gateway account: a response that names another merchant stops all further calls", async () => {
  const databaseUrl = await createDatabase();
  await using account = await openAccount(databaseUrl);
  await runSql(databaseUrl, "update gateway.gateway_account set merchant_id = 'G000000001'");
  const firstResponse = await account.charge();
  assert.equal((await firstResponse.json()).outcome, "unknown");
  const calls = account.relay.received.length;
  assert.equal((await (await account.charge()).json()).outcome, "refused");
  assert.equal(account.relay.received.length, calls);
  assert.equal(await storedMerchant(databaseUrl), "G000000001");
});

Deno.test("gateway account: payments of an earlier account are not used to verify the new one", async () => {
  const databaseUrl = await createDatabase();
  {
    await using earlier = await openAccount(databaseUrl);
    await chargeAndParse(earlier);
  }
  await runSql(
    databaseUrl,
    "update gateway.gateway_account set merchant_id = null, since = now() + interval '1 second'",
  );
  await using account = await openAccount(databaseUrl);
  assert.equal(await account.app.gateway.verifyAccount(), "same");
  await chargeAndParse(account);
});
