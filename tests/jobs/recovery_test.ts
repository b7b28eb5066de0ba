import assert from "node:assert/strict";
import { registerCrons } from "../../commands/crons.ts";
import { createJobs } from "../../commands/jobs.ts";
import type { Database } from "../../db/connection/database.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { recordCrons } from "../support/jobs/record_crons.ts";
import { inTime, until } from "../support/until.ts";

Deno.test("recovery of ended instances: is done, unless this instance begins to stop before its end", async () => {
  let isHeld = false;
  let running = 0;
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holdSweeps = (database: Database): Database => ({
    ...database,
    async query(work, name) {
      running++;
      if (isHeld && name === "list endpoints to serve") {
        begun.resolve();
        await released.promise;
      }
      return await database.query(work, name).finally(() => running--);
    },
  });
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, wrapDatabase: holdSweeps });
  using _crons = recordCrons();
  const jobs = createJobs(app.service, {
    jobQueue: { ...app.service.jobQueue, start() {} },
    handlers: [],
    crons: registerCrons(),
  });
  assert.equal(await jobs.recover(), true);
  isHeld = true;
  const recovery = jobs.recover();
  await inTime("the recovery has begun", begun.promise);
  await jobs.stop(0);
  assert.equal(await inTime("the recovery ends", recovery), false);
  assert.equal(await jobs.recover(), false, "a stopped instance begins no recovery");
  released.resolve();
  await until("the sweep has ended", () => running === 0);
});
