/**
 * A process with its own queue and worker, which a test kills. A job inserts a row into `runs` at
 * each attempt, but only one row into `effects`. The first attempt of a job can fail or hang. If
 * payloads are passed as an argument, the process first inserts a job for each payload.
 */

import type { Queue } from "../../../core/config/config.ts";
import { openInstanceLock } from "../../../db/connection/instance_lock.ts";
import { insertJobs } from "../../../db/jobs/jobs.ts";
import { newJob, openInstance, task } from "./jobs.ts";
import { openTestQueue, startWorker } from "./queues.ts";

const [queue, databaseUrl, folder, payloads] = Deno.args as [Queue, string, string, string];
const { database, log } = openInstance({ databaseUrl, deadlineMs: 20_000 });
const thisInstance = await openInstanceLock({
  url: databaseUrl,
  onLost: (error) => log.error("instance_lock_lost", error),
});
const jobQueue = await openTestQueue(queue, { database, listenUrl: databaseUrl, folder, log });

startWorker({ database, log }, jobQueue, {
  thisInstance,
  tasks: {
    greet: task(async ({ id, payload, attempts }) => {
      await database.query((sql) => sql`insert into runs values (${id}, ${attempts})`);
      if (payload.hangs && attempts === 1) {
        console.log("begun");
        await new Promise(() => {});
      }
      if (payload.fails && attempts === 1) throw new Error("no");
      await database.query((sql) => sql`insert into effects values (${id}) on conflict do nothing`);
    }, { firstDelayMs: 10 }),
  },
});
if (payloads) {
  const jobs = JSON.parse(payloads).map((payload: object) => newJob({ payload }));
  for (const job of await database.query((sql) => insertJobs(sql, jobs))) jobQueue.enqueue(job);
}
