/**
 * A process that a test kills. It runs a scheduled entry for each time that it reads from stdin.
 */

import { tick } from "../../../core/jobs/schedule.ts";
import { openInstance } from "./jobs.ts";

const [databaseUrl, name] = Deno.args;
const instance = openInstance({ databaseUrl: databaseUrl! });

/** Lines such as `1767268800000 quick`; a tick with `hang` never ends. */
async function* readTicks() {
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield line.split(" ") as [time: string, mode: string];
  }
}

console.log("ready");
for await (const [time, mode] of readTicks()) {
  await tick({ ...instance, clock: () => Number(time) }, {
    name: name!,
    cron: "* * * * *",
    run() {
      console.log(`begun ${time}`);
      return mode === "hang" ? new Promise(() => {}) : Promise.resolve(time);
    },
  });
  console.log(`over ${time}`);
}
await instance[Symbol.asyncDispose]();
