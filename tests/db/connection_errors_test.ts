import assert from "node:assert/strict";
import { isStrayDriverError } from "../../db/connection/errors.ts";
import { openDatabase } from "../../db/connection/database.ts";
import { createDatabase } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { until } from "../support/until.ts";

Deno.test("database: if a connection is lost while the driver requests the array types, its statement fails, and the driver's unhandled rejection is recognized", async () => {
  const { proxy, url } = throughProxy(await createDatabase());
  await using _ = proxy;
  const stray: unknown[] = [];
  const remember = (event: PromiseRejectionEvent) => void stray.push(event.reason);
  globalThis.addEventListener("unhandledrejection", remember);
  const database = openDatabase({ url, poolSize: 1 });
  try {
    const isRequested = proxy.hold("typarray");
    const statement = database.query((sql) => sql`select 1`);
    const failed = assert.rejects(statement, { name: "DatabaseUnavailable" });
    await isRequested;
    proxy.cut();
    await failed;
    await until("the driver has thrown", () => stray.length > 0);
    assert.ok(stray.every(isStrayDriverError), String(stray));
  } finally {
    await database.close();
    globalThis.removeEventListener("unhandledrejection", remember);
  }
  assert.ok(!isStrayDriverError(new Error("connect ECONNREFUSED 127.0.0.1:5432")));
});
