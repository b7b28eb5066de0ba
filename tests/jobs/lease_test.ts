import assert from "node:assert/strict";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openInstance, task } from "../support/jobs/jobs.ts";
import { inTime } from "../support/until.ts";

const SECOND = 1_000;

/** After this time, as documented, the job of a killed process without a lock runs again. */
const LEASE = 30 * SECOND;

Deno.test("lease: the job of a killed worker without a lock runs again after 30 s", async () => {
  const databaseUrl = await createDatabase();
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  await using killedInstance = openInstance({
    databaseUrl,
    tasks: {
      greet: task(() => {
        begun.resolve();
        return finish.promise;
      }),
    },
  });
  const id = await killedInstance.insert();
  const hanging = killedInstance.worker.run(id);
  await inTime("the job has begun", begun.promise);

  await using nextInstance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => Promise.resolve("done")) },
  });
  /** Leases end by the database's clock, so the test moves the lease instead of the clock. */
  const letPass = async (ms: number) =>
    void await runSql(
      databaseUrl,
      `update gateway.jobs set lease_until = lease_until - ${ms} * interval '1 millisecond'`,
    );
  // The lease is still valid: a worker that is alive may renew it late.
  await letPass(20 * SECOND);
  assert.equal(await nextInstance.worker.runDue(60 * SECOND), 0);
  await letPass(LEASE - 20 * SECOND);
  assert.equal(await nextInstance.worker.runDue(60 * SECOND), 1);
  const { status, attempts, result } = await nextInstance.find(id);
  assert.deepEqual([status, attempts, result], ["succeeded", 2, "done"]);

  finish.resolve();
  await hanging;
  assert.match(killedInstance.logged(), /"job_lease_lost"/);
  assert.equal((await nextInstance.find(id)).result, "done");
});
