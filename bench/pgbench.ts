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
export async function runPgbench(
  { url, script, clients, transactions, variables }: Run,
): Promise<number> {
  const file = await Deno.makeTempFile({ suffix: ".sql" });
  try {
    await Deno.writeTextFile(file, script);
    const { code, stdout, stderr } = await new Deno.Command(await findPgbench(), {
      args: [
        ...["-n", "-M", "prepared", "-f", file, "-t", String(transactions)],
        ...["-c", String(clients), "-j", String(Math.min(clients, 2))],
        ...Object.entries(variables).flatMap(([name, value]) => ["-D", `${name}=${value}`]),
        url,
      ],
    }).output();
    const output = new TextDecoder().decode(stdout);
    const rate = output.match(/^tps = ([\d.]+)/m)?.[1];
    const wanted = clients * transactions;
    if (code !== 0 || !rate || !output.includes(`processed: ${wanted}/${wanted}`)) {
      throw new Error(`pgbench failed: ${new TextDecoder().decode(stderr)}${output}`);
    }
    return Number(rate);
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
