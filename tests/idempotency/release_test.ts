/** Keys of requests that fail because the database fails. */

import assert from "node:assert/strict";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { openInstanceLock } from "../../db/connection/instance_lock.ts";
import { createDatabase } from "../support/database/database.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { newKey } from "../support/idempotency.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase();

/** The clocks stand still, so that no lease ends because its time is over. */
const NOW = Date.now();
const now = () => NOW;

/** A database that fails from a statement with a chosen name on; `result`: after it ran. */
function createFailingDatabase() {
  let failsAt: string | null = null;
  let isDown = false;
  let loss: "statement" | "result" = "statement";
  return {
    failFrom(statement: string, kind: typeof loss = "statement") {
      failsAt = statement;
      loss = kind;
    },
    recover() {
      failsAt = null;
      isDown = false;
    },
    wrapDatabase: (database: Database): Database => ({
      ...database,
      async query(work, name) {
        const isFirst = !isDown && name === failsAt;
        isDown ||= isFirst;
        if (!isDown) return await database.query(work, name);
        if (isFirst && loss === "result") await database.query(work, name);
        throw new DatabaseUnavailable("The database is away");
      },
    }),
  };
}

interface Case {
  /** From which statement on the database fails. */
  statement: string;
  loss: "statement" | "result";
  path(payments: TestPayments): Promise<string>;
  body?: object;
}

const CHARGE = { payment_type: "gopay", gross_amount: 44_000 };
const charge = { path: () => Promise.resolve("/charge/"), body: CHARGE };
const cancel = {
  path: async (payments: TestPayments) => `/payments/${(await payments.charge()).id}/cancel/`,
};

const CASES: Record<string, Case> = {
  "charge: its insert is done, but not confirmed": {
    ...charge,
    statement: "insert payment",
    loss: "result",
  },
  "charge: the gateway's response cannot be stored": {
    ...charge,
    statement: "write payment",
    loss: "statement",
  },
  "cancel: its claim is done, but not confirmed": {
    ...cancel,
    statement: "claim key",
    loss: "result",
  },
  "cancel: the gateway's response cannot be stored": {
    ...cancel,
    statement: "write payment",
    loss: "statement",
  },
};

for (const [title, { statement, loss, path, body }] of Object.entries(CASES)) {
  Deno.test(`idempotency key: is free when the database is back, here and on other instances; ${title}`, async () => {
    await using lock = await openInstanceLock({ url: databaseUrl, onLost() {} });
    const failing = createFailingDatabase();
    const { wrapDatabase } = failing;
    await using payments = await openPayments({
      databaseUrl,
      now,
      thisInstance: lock,
      wrapDatabase,
    });
    await using other = await openApp({
      databaseUrl,
      now,
      env: REAL_INSTALLATION,
      gatewayUrl: payments.sandbox.url,
      serverKey: SERVER_KEY,
    });
    const onOther: TestPayments["post"] = async (address, body = {}, key) =>
      await other.as(payments.key, address, {
        method: "POST",
        headers: { ...key, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });

    for (const isRetriedHere of [true, false]) {
      const address = await path(payments);
      const key = newKey();
      failing.failFrom(statement, loss);
      assert.equal((await payments.post(address, body, key)).status, 503);
      failing.recover();
      const retry = isRetriedHere ? payments.post : onOther;
      await until("the request can be retried", async () => {
        const answer = await retry(address, body, key);
        await answer.body?.cancel();
        return answer.ok;
      });
    }
  });
}
