/** Writes the history of a run to a file, so that a finding can be explained. */

import { join } from "node:path";
import type { AcceptedNotification } from "./courier.ts";
import type { History } from "./history.ts";

/** The file has one line for each record, because a long history is too long for one string. */
export async function writeHistory(
  records: History & { notifications: AcceptedNotification[] },
): Promise<string> {
  const file = join(await Deno.makeTempDir({ prefix: "chaos-" }), "history.jsonl");
  await Deno.writeTextFile(file, ReadableStream.from(linesOf(records)));
  return file;
}

function* linesOf(records: object): Generator<string> {
  for (const [list, values] of Object.entries(records)) {
    for (const value of values) yield JSON.stringify({ list, ...value }) + "\n";
  }
}
