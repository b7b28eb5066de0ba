/** `pgbench`, which comes with PostgreSQL and knows no quicker way to its tables. */

import { join } from "node:path";

export interface Run {
  url: string;
  script: string;
  clients: number;
  /** Of each client. */
  transactions: number;
  variables: Record<string, string | number>;
}

/** Where Debian keeps the programs of each version. */
const DEBIAN = "/usr/lib/postgresql";

/** Transactions a second, from when all clients are connected. */
export async function runPgbench(run: Run): Promise<number> {
  const output = await start(run, []);
  const rate = output.match(/^tps = ([\d.]+)/m)?.[1];
  if (!rate) throw new Error(`pgbench told no rate: ${output}`);
  return Number(rate);
}

/** How long each transaction took, in milliseconds from when it was due, at this pace. */
export async function pacePgbench(run: Run, perSecond: number): Promise<number[]> {
  const folder = await Deno.makeTempDir();
  try {
    const log = join(folder, "log");
    await start(run, ["-R", perSecond.toFixed(1), "-l", `--log-prefix=${log}`]);
    const files = await Array.fromAsync(Deno.readDir(folder));
    const texts = await Promise.all(
      files.map(({ name }) => Deno.readTextFile(join(folder, name))),
    );
    // Client, number, microseconds, …
    return texts.join("").trim().split("\n").map((line) => Number(line.split(" ")[2]) / 1000);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function start(
  { url, script, clients, transactions, variables }: Run,
  more: string[],
): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".sql" });
  try {
    await Deno.writeTextFile(file, script);
    const { code, stdout, stderr } = await new Deno.Command(await findPgbench(), {
      args: [
        ...["-n", "-M", "prepared", "-f", file, "-t", String(transactions)],
        ...["-c", String(clients), "-j", String(Math.min(clients, 2))],
        ...Object.entries(variables).flatMap(([name, value]) => ["-D", `${name}=${value}`]),
        ...more,
        url,
      ],
    }).output();
    const output = new TextDecoder().decode(stdout);
    const wanted = clients * transactions;
    if (code !== 0 || !output.includes(`processed: ${wanted}/${wanted}`)) {
      throw new Error(`pgbench failed: ${new TextDecoder().decode(stderr)}${output}`);
    }
    return output;
  } finally {
    await Deno.remove(file);
  }
}

/** The newest, itself: what is in the path is a script that has to look for it first. */
async function findPgbench(): Promise<string> {
  const versions = await Array.fromAsync(Deno.readDir(DEBIAN)).catch(() => []);
  const newestFirst = versions.map(({ name }) => name).sort((a, b) => Number(b) - Number(a));
  for (const version of newestFirst) {
    const path = join(DEBIAN, version, "bin/pgbench");
    if (await Deno.stat(path).catch(() => null)) return path;
  }
  throw new Error(
    `There is no pgbench in ${DEBIAN}: install Debian's package postgresql-contrib. (The embedded ` +
      "PostgreSQL comes without it.)",
  );
}
