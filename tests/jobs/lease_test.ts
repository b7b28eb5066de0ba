import assert from "node:assert/strict";
import { sweepJobs } from "../../core/jobs/schedule.ts";
import { SCHEDULE } from "../../core/schedule.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openInstance, task } from "../support/jobs/jobs.ts";
import { inTime } from "../support/until.ts";

const SECOND = 1_000;

/** The documented maximum time until the job of a killed process runs again. */
const MAX_DELAY = 90 * SECOND;

Deno.test("lease: the job of a killed worker runs again within 90 s", async () => {
  const { cron } = SCHEDULE.find(({ name }) => name === "sweep_jobs")!;
  assert.equal(cron, "* * * * *");
  // The next sweep can be 60 s away when the lease ends.
  const leaseEnd = MAX_DELAY - 60 * SECOND;

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
  const sweep = () =>
    sweepJobs({ ...nextInstance, clock: Date.now, runJob: nextInstance.worker.run });
  /** Leases end by the database's clock, so the test moves the lease instead of the clock. */
  const letPass = async (ms: number) =>
    void await runSql(
      databaseUrl,
      `update gateway.jobs set lease_until = lease_until - ${ms} * interval '1 millisecond'`,
    );
  // The lease is still valid: a worker that is alive may renew it late.
  await letPass(20 * SECOND);
  assert.equal(await sweep(), 0);
  await letPass(leaseEnd - 20 * SECOND);
  assert.equal(await sweep(), 1);
  const { status, attempts, result } = await nextInstance.find(id);
  assert.deepEqual([status, attempts, result], ["succeeded", 2, "done"]);

  finish.resolve();
  await hanging;
  assert.match(killedInstance.logged(), /"job_lease_lost"/);
  assert.equal((await nextInstance.find(id)).result, "done");
});
