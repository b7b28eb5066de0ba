/** Runs `pgbench`, the benchmark tool of PostgreSQL. */

import { join } from "node:path";

export interface Run {
  url: string;
  script: string;
  clients: number;
  /** The number of transactions of each client. */
  transactions: number;
  variables: Record<string, string | number>;
}

/** Debian installs the programs of each PostgreSQL version in a subfolder. */
const DEBIAN = "/usr/lib/postgresql";

/** Transactions per second, without the time to connect. */
export async function runPgbench(run: Run): Promise<number> {
  const output = await runToEnd(run, []);
  const rate = output.match(/^tps = ([\d.]+)/m)?.[1];
  if (!rate) throw new Error(`The output of pgbench has no rate: ${output}`);
  return Number(rate);
}

/** The latency of each transaction at this rate, in milliseconds from its due time. */
export async function pacePgbench(run: Run, perSecond: number): Promise<number[]> {
  const folder = await Deno.makeTempDir();
  try {
    const log = join(folder, "log");
    await runToEnd(run, ["-R", perSecond.toFixed(1), "-l", `--log-prefix=${log}`]);
    const files = await Array.fromAsync(Deno.readDir(folder));
    const texts = await Promise.all(
      files.map(({ name }) => Deno.readTextFile(join(folder, name))),
    );
    // Columns: client, number, microseconds, …
    return texts.join("").trim().split("\n").map((line) => Number(line.split(" ")[2]) / 1000);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function runToEnd(
  { url, script, clients, transactions, variables }: Run,
  extraArgs: string[],
): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".sql" });
  try {
    await Deno.writeTextFile(file, script);
    const { code, stdout, stderr } = await new Deno.Command(await findPgbench(), {
      args: [
        ...["-n", "-M", "prepared", "-f", file, "-t", String(transactions)],
        ...["-c", String(clients), "-j", String(Math.min(clients, 2))],
        ...Object.entries(variables).flatMap(([name, value]) => ["-D", `${name}=${value}`]),
        ...extraArgs,
        url,
      ],
    }).output();
    const output = new TextDecoder().decode(stdout);
    const expected = clients * transactions;
    if (code !== 0 || !output.includes(`processed: ${expected}/${expected}`)) {
      throw new Error(`pgbench failed: ${new TextDecoder().decode(stderr)}${output}`);
    }
    return output;
  } finally {
    await Deno.remove(file);
  }
}

/** Finds the newest version. The `pgbench` in the PATH is a wrapper script that starts slowly. */
async function findPgbench(): Promise<string> {
  const versions = await Array.fromAsync(Deno.readDir(DEBIAN)).catch(() => []);
  const newestFirst = versions.map(({ name }) => name).sort((a, b) => Number(b) - Number(a));
  for (const version of newestFirst) {
    const path = join(DEBIAN, version, "bin/pgbench");
    if (await Deno.stat(path).catch(() => null)) return path;
  }
  throw new Error(
    `No pgbench found in ${DEBIAN}: install the Debian package postgresql-contrib. The embedded ` +
      "PostgreSQL does not include it.",
  );
}
