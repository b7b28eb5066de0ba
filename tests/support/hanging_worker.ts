/** A process that takes on a job and never ends it; to be killed. */

import { openInstance, task } from "./jobs.ts";

const [databaseUrl, jobId] = Deno.args;
const tasks = {
  greet: task(() => {
    console.log("begun");
    return new Promise(() => {});
  }),
};
await openInstance({ databaseUrl: databaseUrl!, tasks }).worker.run(jobId!);
