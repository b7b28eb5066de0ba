/**
 * Two PostgreSQL servers under Patroni, with etcd, and HAProxy as the one address that moves. They
 * are set up with the commands of docs/failover.md and the files of `deploy/patroni/`, on free
 * ports and with shorter times.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { NOBODY_USER } from "../../../db/embedded/platform.ts";
import { freePort } from "../free_port.ts";
import { hasProgram } from "../programs.ts";
import { blockWith, readGuide, runBlock } from "../guides/text.ts";
import { createDataFolder, PROJECT } from "../project.ts";
import { until } from "../until.ts";
import { runSql } from "./database.ts";
import { findOldestPrograms } from "./debian_postgres.ts";
import "./stray_errors.ts";

export interface DatabasePair extends AsyncDisposable {
  /** Both servers, as in `DATABASE_URL`. */
  url: string;
  /** The one address that leads to the primary. */
  address: string;
  members: Member[];
  /** The files of the programs, and what they print. */
  folder: string;
  /** Runs the command of docs/failover.md that contains `words`; returns what it prints. */
  runGuide(words: string, morePlaces?: Record<string, string>): Promise<string>;
  /** The server that Patroni considers the primary; waits for one. */
  primary(): Promise<Member>;
  /** A planned switchover; returns the new primary. */
  promote(): Promise<Member>;
  /**
   * Ends or stops the primary, or switches over. Resolves with the other server when it accepts
   * writes.
   */
  failOver(how: FailoverKind): Promise<Member>;
  /** Waits until the standby has all of the primary's changes and can be promoted. */
  untilBothStream(): Promise<void>;
}

/**
 * `kill`: the primary's processes are killed, as when its machine fails. `pause`: they are stopped
 * and may be continued later, as when its machine hangs. `switchover`: an operator asks for it.
 */
export type FailoverKind = "kill" | "pause" | "switchover";

export const FAILOVER_KINDS: FailoverKind[] = ["kill", "pause", "switchover"];

export interface Member {
  name: string;
  /** This server alone. */
  url: string;
  /** The URL of Patroni's API. */
  patroni: string;
  /** The same database as the superuser, who may look at the other sessions. */
  superuserUrl: string;
  start(): void;
  /** Kills Patroni and all processes of PostgreSQL. */
  kill(): Promise<void>;
  /** Stops (SIGSTOP) Patroni and all processes of PostgreSQL. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Stops (SIGSTOP) Patroni only: PostgreSQL continues as it is. */
  pausePatroni(): void;
  resumePatroni(): void;
}

export interface PairOptions {
  /** Whether the primary waits for the standby; default: true. */
  isSynchronous?: boolean;
}

/** Debian installs HAProxy in a folder that is not in the PATH of ordinary users. */
const PROGRAMS = {
  patroni: ["patroni", "--version"],
  etcd: ["etcd", "--version"],
  haproxy: ["/usr/sbin/haproxy", "-v"],
  psql: ["psql", "--version"],
  openssl: ["openssl", "version"],
  ps: ["ps", "--version"],
} as const;

/** Short times. A busy machine must not delay Patroni by so long, or it promotes the standby. */
const TIMES = {
  "ttl: 30": "ttl: 15",
  "loop_wait: 10": "loop_wait: 1",
  "retry_timeout: 10": "retry_timeout: 3",
};

const NAMES = ["db1", "db2"];

const PASSWORD_NAMES = [
  "SUPERUSER_PASSWORD",
  "REPLICATION_PASSWORD",
  "REWIND_PASSWORD",
  "PASSWORD",
] as const;

/** The passwords of the roles, which the guide's commands read from the environment. */
type Passwords = Record<typeof PASSWORD_NAMES[number], string>;

/** Whether all programs of a pair are installed. Of those that are not, prints one. */
export async function hasPatroni(skipped: string): Promise<boolean> {
  for (const [program, ...args] of Object.values(PROGRAMS)) {
    if (!await hasProgram(program, skipped, args)) return false;
  }
  return findOldestPrograms() !== null;
}

export async function startPair(options: PairOptions = {}): Promise<DatabasePair> {
  await using resources = new AsyncDisposableStack();
  const { path: folder } = resources.use(await createDataFolder());
  const runAs = Deno.uid() === 0 ? NOBODY_USER : undefined;
  if (runAs) await Deno.chown(folder, runAs.uid, runAs.gid);
  const start = (name: string, command: readonly string[]) =>
    startProgram(join(folder, `${name}.log`), command, runAs);
  const passwords = await createPasswords();
  const etcd = await startEtcd(folder, start);
  resources.defer(() => end(etcd.process));
  const ports = NAMES.map(() => ({ postgres: freePort(), patroni: freePort() }));
  const members = await Promise.all(NAMES.map(async (name, index) => {
    const file = join(folder, `${name}.yml`);
    const settings = { name, ports, etcd: etcd.address, folder, passwords, runAs, ...options };
    await Deno.writeTextFile(file, await patroniFile(settings));
    const member = createMember(
      { name, folder, passwords, ...ports[index]! },
      () => start(name, ["patroni", file]),
    );
    resources.defer(() => member.kill());
    return member;
  }));
  const port = await startHaproxy(folder, ports, start, resources);
  for (const member of members) member.start();

  const addresses = ports.map(({ postgres }) => `127.0.0.1:${postgres}`).join(",");
  const places = {
    "/etc/patroni/config.yml": join(folder, "db1.yml"),
    "/etc/haproxy/haproxy.cfg": join(folder, "haproxy.cfg"),
    "db1.internal:5432,db2.internal:5432": addresses,
  };
  const pair: DatabasePair = {
    url:
      `postgres://payments:${passwords.PASSWORD}@${addresses}/payments?target_session_attrs=read-write`,
    address: `postgres://payments:${passwords.PASSWORD}@127.0.0.1:${port}/payments`,
    members,
    folder,
    runGuide: (words, morePlaces) => runGuide(words, { ...places, ...morePlaces }, passwords),
    async primary() {
      let found: Member | undefined;
      await until("there is a primary", async () => {
        const answers = await Promise.all(members.map(isPrimary));
        found = members[answers.indexOf(true)];
        return found !== undefined;
      });
      return found!;
    },
    promote: () => pair.failOver("switchover"),
    async failOver(how) {
      await pair.untilBothStream();
      const former = await pair.primary();
      const other = members.find((member) => member !== former)!;
      const promoted = untilWritable(other);
      if (how === "kill") await former.kill();
      else if (how === "pause") await former.pause();
      else await switchOver(former, other);
      await promoted;
      return other;
    },
    async untilBothStream() {
      await until("the standby has all changes", async () => {
        const primary = await pair.primary();
        return await hasStandby(primary, options.isSynchronous ?? true);
      }, START_TIMEOUT_MS);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  await pair.primary();
  await pair.runGuide("create database payments");
  await pair.untilBothStream();
  await until("HAProxy leads to the primary", () => responds(pair.address));
  const owned = resources.move();
  return pair;
}

/** A standby copies the primary first, and a former primary may have to rewind. */
const START_TIMEOUT_MS = 180_000;

interface RunAs {
  uid: number;
  gid: number;
}

type Start = (name: string, command: readonly string[]) => Deno.ChildProcess;

/** The shell only redirects the output; `exec` keeps the pid. */
function startProgram(
  log: string,
  command: readonly string[],
  runAs: RunAs | undefined,
): Deno.ChildProcess {
  return new Deno.Command("sh", {
    args: ["-c", 'log=$1; shift; exec "$@" >>"$log" 2>&1', "sh", log, ...command],
    ...runAs,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

async function end(process: Deno.ChildProcess): Promise<void> {
  try {
    process.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  await process.status;
}

async function startEtcd(folder: string, start: Start) {
  const address = `127.0.0.1:${freePort()}`;
  const peer = `http://127.0.0.1:${freePort()}`;
  const process = start("etcd", [
    "etcd",
    ...["--name", "etcd1", "--data-dir", join(folder, "etcd"), "--logger", "zap"],
    "--enable-v2",
    ...["--listen-client-urls", `http://${address}`],
    ...["--advertise-client-urls", `http://${address}`],
    ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
    ...["--initial-cluster", `etcd1=${peer}`],
  ]);
  await until("etcd responds", () => answersOk(`http://${address}/health`));
  return { process, address };
}

interface Ports {
  postgres: number;
  patroni: number;
}

interface FileOptions extends PairOptions {
  name: string;
  ports: Ports[];
  etcd: string;
  folder: string;
  passwords: Passwords;
  runAs: RunAs | undefined;
}

/** A command of the guide, with other files and addresses. */
async function runGuide(
  words: string,
  places: Record<string, string>,
  variables: Record<string, string>,
): Promise<string> {
  let block = blockWith(await readGuide("failover.md"), "sh", words);
  for (const [from, to] of Object.entries(places)) block = block.replaceAll(from, to);
  const path = `${Deno.env.get("PATH")}:/usr/sbin`;
  const { stdout } = await runBlock(block, { PATH: path, ...variables });
  return stdout;
}

async function createPasswords(): Promise<Passwords> {
  const block = blockWith(await readGuide("failover.md"), "sh", "openssl rand");
  const { stdout } = await runBlock(`${block}\nprintenv ${PASSWORD_NAMES.join(" ")}`, {});
  const values = stdout.trim().split("\n");
  assert.equal(new Set(values).size, PASSWORD_NAMES.length);
  return Object.fromEntries(PASSWORD_NAMES.map((name, i) => [name, values[i]!])) as Passwords;
}

/**
 * `deploy/patroni/patroni.yml` for one of the servers. Its network stays as it is: here, all
 * connections come from localhost, as Patroni's own always do.
 */
async function patroniFile(options: FileOptions): Promise<string> {
  const { name, ports, etcd, folder, passwords, runAs, isSynchronous = true } = options;
  const own = ports[NAMES.indexOf(name)]!;
  const file = join(folder, `${name}.yml`);
  const places = {
    "/etc/patroni/config.yml": file,
    "chown postgres:": `chown ${runAs?.uid ?? Deno.uid()}`,
  };
  await runGuide("deploy/patroni/patroni.yml", places, { ...passwords, NAME: name });
  return replaceEach(await Deno.readTextFile(file), {
    ...TIMES,
    "listen: 0.0.0.0:8008": `listen: 127.0.0.1:${own.patroni}`,
    [`connect_address: ${name}.internal:8008`]: `connect_address: 127.0.0.1:${own.patroni}`,
    "hosts: etcd1.internal:2379,etcd2.internal:2379,etcd3.internal:2379": `hosts: ${etcd}`,
    "synchronous_mode: true": `synchronous_mode: ${isSynchronous}`,
    "listen: 0.0.0.0:5432": `listen: 127.0.0.1:${own.postgres}`,
    [`connect_address: ${name}.internal:5432`]: `connect_address: 127.0.0.1:${own.postgres}`,
    "/var/lib/postgresql/15/payments": join(folder, `${name}-data`),
    "/usr/lib/postgresql/15/bin": findOldestPrograms()!,
    "/var/lib/postgresql/patroni.pgpass": join(folder, `${name}.pgpass`),
    // The operating system stays up, so its cache keeps what a killed server has written.
    "unix_socket_directories: /var/run/postgresql": `unix_socket_directories: ""\n    fsync: "off"`,
    "mode: automatic": 'mode: "off"',
  });
}

async function startHaproxy(
  folder: string,
  ports: Ports[],
  start: Start,
  resources: AsyncDisposableStack,
): Promise<number> {
  const port = freePort();
  const text = await Deno.readTextFile(join(PROJECT, "deploy/patroni/haproxy.cfg"));
  const servers = NAMES.map((name, index) => {
    const { postgres, patroni } = ports[index]!;
    return [
      `${name}.internal:5432 check port 8008`,
      `127.0.0.1:${postgres} check port ${patroni}`,
    ] as const;
  });
  const file = join(folder, "haproxy.cfg");
  await Deno.writeTextFile(
    file,
    replaceEach(text, {
      "bind 127.0.0.1:6432": `bind 127.0.0.1:${port}`,
      ...Object.fromEntries(servers),
    }),
  );
  const process = start("haproxy", [PROGRAMS.haproxy[0], "-db", "-f", file]);
  resources.defer(() => end(process));
  return port;
}

/** Fails if a text to replace is missing, so that the files cannot change unnoticed. */
function replaceEach(text: string, replacements: Record<string, string>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => {
    assert.ok(result.includes(from), `deploy/patroni has no "${from}"`);
    return result.replaceAll(from, to);
  }, text);
}

interface MemberPlace extends Ports {
  name: string;
  folder: string;
  passwords: Passwords;
}

function createMember(place: MemberPlace, startPatroni: () => Deno.ChildProcess): Member {
  const { name, folder, postgres, patroni } = place;
  const { PASSWORD, SUPERUSER_PASSWORD } = place.passwords;
  let process: Deno.ChildProcess | null = null;
  let paused: number[] = [];

  /** Stops Patroni first, then the server, so that neither starts a process meanwhile. */
  async function freeze(): Promise<number[]> {
    const patroniPid = process === null ? [] : [process.pid];
    for (const pid of patroniPid) signal(pid, "SIGSTOP");
    const server = await readPid(join(folder, `${name}-data`, "postmaster.pid"));
    if (server === null) return patroniPid;
    signal(server, "SIGSTOP");
    const children = await childrenOf(server);
    for (const pid of children) signal(pid, "SIGSTOP");
    return [...patroniPid, server, ...children];
  }

  return {
    name,
    patroni: `http://127.0.0.1:${patroni}`,
    url: `postgres://payments:${PASSWORD}@127.0.0.1:${postgres}/payments`,
    superuserUrl: `postgres://postgres:${SUPERUSER_PASSWORD}@127.0.0.1:${postgres}/payments`,
    start() {
      process ??= startPatroni();
    },
    async kill() {
      for (const pid of await freeze()) signal(pid, "SIGKILL");
      await process?.status;
      process = null;
      paused = [];
    },
    async pause() {
      paused = await freeze();
    },
    resume() {
      for (const pid of paused.toReversed()) signal(pid, "SIGCONT");
      paused = [];
      return Promise.resolve();
    },
    pausePatroni: () => signal(process!.pid, "SIGSTOP"),
    resumePatroni: () => signal(process!.pid, "SIGCONT"),
  };
}

/** A process may have ended before the signal. */
function signal(pid: number, name: Deno.Signal): void {
  try {
    Deno.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function readPid(file: string): Promise<number | null> {
  const pid = parseInt(await Deno.readTextFile(file).catch(() => ""));
  return Number.isNaN(pid) ? null : pid;
}

async function childrenOf(pid: number): Promise<number[]> {
  const args = ["-o", "pid=", "--ppid", String(pid)];
  const { stdout } = await new Deno.Command(PROGRAMS.ps[0], { args }).output();
  return new TextDecoder().decode(stdout).split(/\s+/).filter(Boolean).map(Number);
}

async function isPrimary({ patroni }: Member): Promise<boolean> {
  return await answersOk(`${patroni}/primary`);
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** A paused program accepts connections and does not respond. */
const RESPONSE_TIMEOUT_MS = 5_000;

async function responds(url: string): Promise<boolean> {
  return await runSql(url, "select 1").then(() => true, () => false);
}

async function untilWritable({ name, url }: Member): Promise<void> {
  await until(`${name} accepts writes`, async () => {
    const rows = await runSql(url, "select pg_is_in_recovery() as is_standby").catch(() => []);
    return rows[0]?.is_standby === false;
  }, START_TIMEOUT_MS);
}

async function switchOver(from: Member, to: Member): Promise<void> {
  const response = await fetch(`${from.patroni}/switchover`, {
    method: "POST",
    body: JSON.stringify({ leader: from.name, candidate: to.name }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
}

/** Whether a standby streams, and, if commits wait for it, whether Patroni would promote it. */
async function hasStandby(primary: Member, isSynchronous: boolean): Promise<boolean> {
  const [row] = await runSql(
    primary.superuserUrl,
    `select sync_state, replay_lsn >= pg_current_wal_lsn() as is_complete from pg_stat_replication
     where state = 'streaming' and application_name in ('${NAMES.join("', '")}')`,
  ).catch(() => []);
  if (!row || !isSynchronous) return row?.is_complete === true;
  if (row.sync_state !== "sync") return false;
  const response = await fetch(`${primary.patroni}/cluster`).catch(() => null);
  const { members } = await response?.json() ?? { members: [] };
  return members.some(({ role }: { role: string }) => role === "sync_standby");
}
