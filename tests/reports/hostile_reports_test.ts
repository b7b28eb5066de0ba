import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { readReport } from "../../core/reports/report_file.ts";
import { assertProblem } from "../support/problem.ts";
import {
  differencesOf,
  openReports,
  reconcile,
  upload,
} from "../support/reports/reconciliations.ts";

const HEADER = "order_id,amount,note\n";

/** Begins with `beginning` and repeats `rest` without an end; counts the bytes that were read. */
function endlessFile(beginning: string, rest: string) {
  const chunk = new TextEncoder().encode(rest.repeat(Math.ceil(65_536 / rest.length)));
  const file = { read: 0 };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(file.read === 0 ? new TextEncoder().encode(beginning) : chunk);
      file.read += chunk.byteLength;
    },
  }, { highWaterMark: 0 });
  return { body, file };
}

/** A line that never ends, and what is wrong with it. */
const ENDLESS: Record<string, [beginning: string, rest: string, message: RegExp]> = {
  "commas in the header": ["", ",", /^line 1 has more than 1000 cells; send the report as it/],
  "commas in a line": [`${HEADER}A,1000,x\n`, ",", /^line 3 has more than 1000 cells/],
  "semicolons": ["order_id;amount\n", ";", /^line 2 has more than 1000 cells/],
  "empty cells in quotes": [HEADER, '"",', /^line 2 has more than 1000 cells/],
  "line breaks in quotes and commas": [HEADER, '"\n",,,,', /^line 2 has more than 1000 cells/],
  "a cell": [HEADER, "x", /^line 2 has more than 65536 characters; send the report as it/],
  "a quote that is not closed": [
    `${HEADER}A,1000,"`,
    "x\n",
    /^line 2 has more than 65536 characters; close its quotes/,
  ],
};

Deno.test("reconciliation: a line that is too long or has too many cells is rejected before the rest of the file is read", async () => {
  await using reports = await openReports();
  for (const [name, [beginning, rest, message]] of Object.entries(ENDLESS)) {
    const { body, file } = endlessFile(beginning, rest);
    const problem = await assertProblem(await upload(reports, body), 400, "validation_error");
    const { field, message: found } = problem.errors!.at(-1)!;
    assert.match(`${field} ${found}`, message, name);
    assert.ok(file.read < 1_000_000, `${name}: ${file.read} bytes were read`);
  }
});

Deno.test("reconciliation: other work runs while a large file in one chunk is read", async () => {
  const lines = 50_000;
  const bytes = new TextEncoder().encode(HEADER + "A,1000,x\n".repeat(lines));
  const file = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  let [turns, isDone] = [0, false];
  const takeTurns = () => {
    turns++;
    if (!isDone) setImmediate(takeTurns);
  };
  takeTurns();
  const linesOfTurns: number[] = [];
  for await (const _ of readReport(file, {})) {
    linesOfTurns[turns] = (linesOfTurns[turns] ?? 0) + 1;
  }
  isDone = true;
  assert.equal(linesOfTurns.reduce((sum, count) => sum + count, 0), lines);
  const most = Math.max(...linesOfTurns.filter(() => true));
  assert.ok(most < lines / 5, `${most} lines were read in one turn of the event loop`);
});

Deno.test("reconciliation: a file can have each kind of line end, and line breaks and commas in quotes", async () => {
  await using reports = await openReports();
  const note = `"${'several\nlines, and ""quotes"",\r\n'.repeat(1_000)}"`;
  for (const end of ["\n", "\r\n", "\r"]) {
    const file = ["order_id,amount,note", `A,1000,${note}`, "B,2000,", ""].join(end);
    const result = await reconcile(reports, file);
    assert.deepEqual(differencesOf(result).map(([, result]) => result), [
      "missing_here",
      "missing_here",
    ]);
    assert.equal(result.lines, 2);
  }
});
