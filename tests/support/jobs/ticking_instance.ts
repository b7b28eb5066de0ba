/** An instance in its own process that runs a scheduled entry at the times it is sent; to be killed. */

import { tick } from "../../../core/jobs/schedule.ts";
import { openInstance } from "./jobs.ts";

const [databaseUrl, name] = Deno.args;
const instance = openInstance({ databaseUrl: databaseUrl! });

/** Lines such as `1767268800000 quick`; a tick with `hang` never ends. */
async function* orders() {
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield line.split(" ") as [time: string, manner: string];
  }
}

console.log("ready");
for await (const [time, manner] of orders()) {
  await tick({ ...instance, clock: () => Number(time) }, {
    name: name!,
    cron: "* * * * *",
    run() {
      console.log(`begun ${time}`);
      return manner === "hang" ? new Promise(() => {}) : Promise.resolve(time);
    },
  });
  console.log(`over ${time}`);
}
await instance[Symbol.asyncDispose]();
