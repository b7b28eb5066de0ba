/**
 * The rate of reading payments, compared with a bare Hono route that sends the same bytes. Both are
 * measured in turns, because the ratio of two rates from the same moment varies less than the
 * rates.
 */

import { generateApiKey } from "../core/secrets/api_key.ts";
import { runSql } from "../tests/support/database/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { processorTime } from "./support/cpu.ts";
import { goal, median, perSecond, ratio, row } from "./support/figures.ts";
import { getRequest, requestsPerSecond } from "./support/load.ts";
import { insertPayments, PENDING } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";
import { type Program, startProgram } from "./support/program.ts";
import { startService } from "./support/service.ts";
import { addTableRow } from "./support/table.ts";

const ROUNDS = 7;
const LOAD = { connections: 16, seconds: 1 };
/** Goal for the rate of the service divided by the rate of the bare route. */
const MIN_RATIO = 0.5;

interface Measured {
  service: number[];
  bare: number[];
  /** Microseconds of processor time per request. */
  serviceCpu: number[];
  postgresCpu: number[];
  bareCpu: number[];
}

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using resources = new AsyncDisposableStack();
const databaseUrl = await server.createDatabase("reads");
const key = generateApiKey();
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: "http://127.0.0.1:2",
  BOOTSTRAP_STAFF_KEY: key,
});
await insertPayments(databaseUrl, PENDING);
const postgres = { pid: await server.findProcess() };
const headers = { Authorization: `Bearer ${key}` };

const [newest] = await runSql(
  databaseUrl,
  "select id from gateway.payments order by id desc limit 1",
);
const paths = {
  "GET /payments/ (50 rows)": "payments/?limit=50",
  "GET /payments/{pk}/": `payments/${newest!.id}/`,
};

for (const [name, path] of Object.entries(paths)) {
  const bare = await startBare(path);
  const measured = await measure(path, bare);
  const reached = ratio(measured.service, measured.bare);
  await addTableRow({
    operation: name,
    perSecond: median(measured.service),
    deno: median(measured.serviceCpu),
    postgres: median(measured.postgresCpu),
    ratio: reached,
    reference: "a bare route that sends the same bytes",
  });
  console.log(row(name, ["service", "bare Hono route", "ratio"]));
  console.log(row(
    `${LOAD.connections} connections`,
    [perSecond(measured.service), perSecond(measured.bare), reached],
    goal(`at least ${MIN_RATIO}`, Number(reached) >= MIN_RATIO),
  ));
  console.log(row(
    "processor time: Deno, PostgreSQL; bare route",
    [measured.serviceCpu, measured.postgresCpu, measured.bareCpu].map((times) =>
      `${Math.round(median(times))} µs`
    ),
  ));
}

/** Starts the bare route with the bytes that the service sends for this path. */
async function startBare(path: string): Promise<Program> {
  const response = await fetch(service.url + path, { headers });
  const file = await Deno.makeTempFile({ dir: folder.path });
  await Deno.writeTextFile(file, await response.text());
  const args = ["run", "--allow-net", "--ignore-env", `--allow-read=${file}`];
  return resources.use(
    await startProgram(`${file}.log`, [...args, "bench/support/bare_bytes.ts", file]),
  );
}

/** The first round is a warm-up and is not counted. */
async function measure(path: string, bare: Program): Promise<Measured> {
  const measured: Measured = {
    service: [],
    bare: [],
    serviceCpu: [],
    postgresCpu: [],
    bareCpu: [],
  };
  for (let round = 0; round <= ROUNDS; round++) {
    const ofService = await measureRound(service, path);
    const ofBare = await measureRound(bare, path);
    if (round === 0) continue;
    measured.service.push(ofService.rate);
    measured.serviceCpu.push(ofService.cpu);
    measured.postgresCpu.push(ofService.postgresCpu);
    measured.bare.push(ofBare.rate);
    measured.bareCpu.push(ofBare.cpu);
  }
  return measured;
}

async function measureRound({ url, pid }: Program, path: string) {
  const before = [await processorTime(pid), await processorTime(postgres.pid)];
  const rate = await requestsPerSecond({ ...LOAD, url, request: getRequest(url + path, headers) });
  const after = [await processorTime(pid), await processorTime(postgres.pid)];
  const requests = rate * LOAD.seconds;
  const [cpu, postgresCpu] = after.map((time, index) => (time - before[index]!) / requests);
  return { rate, cpu: cpu!, postgresCpu: postgresCpu! };
}
