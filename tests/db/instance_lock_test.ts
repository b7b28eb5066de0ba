import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import postgres from "postgres";
import {
  type InstanceLock,
  type InstanceLockOptions,
  openInstanceLock,
} from "../../db/connection/instance_lock.ts";
import { DatabaseUnavailable } from "../../db/connection/errors.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { createGate } from "../support/database/gate.ts";
import {
  type DatabaseGates,
  openGatedDatabase,
  type Packet,
  textOf,
} from "../support/database/gated_database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { openTransactionPooler } from "../support/database/transaction_pooler.ts";
import { inTime, until } from "../support/until.ts";

interface TestLock extends InstanceLock {
  /** How often this instance detected that another instance is gone. */
  goneInstances(): number;
  losses: unknown[];
}

interface TestLockOptions extends Partial<InstanceLockOptions> {
  /** The result of the recovery; null: this instance recovers no others. */
  isRecovered?: boolean | null;
}

async function openLock(url: string, options: TestLockOptions = {}) {
  const { isRecovered = true, ...lockOptions } = options;
  let goneInstances = 0;
  const losses: unknown[] = [];
  const lock = await openInstanceLock({
    url,
    onLost: (error) => losses.push(error),
    ...lockOptions,
  });
  if (isRecovered !== null) {
    lock.recoverOthers(() => {
      goneInstances++;
      return Promise.resolve(isRecovered);
    });
  }
  return { ...lock, goneInstances: () => goneInstances, losses } satisfies TestLock;
}

function createGates(): DatabaseGates {
  return { statements: createGate(() => {}), results: createGate(() => {}) };
}

async function isFree(url: string, token: number): Promise<boolean> {
  const [row] = await runSql(url, `select pg_try_advisory_xact_lock_shared(${token}) as is_free`);
  return row!.is_free;
}

async function instances(url: string): Promise<number[]> {
  const rows = await runSql(url, "select holder from gateway.instances order by holder");
  return rows.map(({ holder }) => Number(holder));
}

Deno.test("instance lock: is held while the instance runs, and free when it has ended", async () => {
  const url = await createDatabase({ isNew: true });
  const lock = await openLock(url);
  const token = lock.token()!;
  assert.ok(Number.isSafeInteger(token));
  assert.equal(await isFree(url, token), false);
  assert.deepEqual(await instances(url), [token]);
  await lock[Symbol.asyncDispose]();
  assert.equal(lock.token(), null);
  await until("the lock is free", () => isFree(url, token));
  assert.deepEqual(lock.losses, []);
});

Deno.test("instance lock: a check is one message, so the session is idle if the process is paused after it", async () => {
  const gates = createGates();
  await using database = openGatedDatabase(await createDatabase({ isNew: true }), gates);
  await using _lock = await openLock(database.url);
  gates.statements.hold();
  await until("a check is sent", () => gates.statements.held().length > 0);
  const text = textOf(gates.statements.held());
  // `Q` is the message of a whole statement; a statement with parameters begins with `P`.
  assert.match(text, /^Q/);
  assert.match(text, /pg_try_advisory_xact_lock_shared/);
  gates.statements.release();
});

Deno.test("instance lock: if one of three instances ends, exactly one of the others detects it", async () => {
  const url = await createDatabase({ isNew: true });
  await using firstLock = await openLock(url);
  await using secondLock = await openLock(url);
  const thirdLock = await openLock(url);
  assert.equal((await instances(url)).length, 3);
  await thirdLock[Symbol.asyncDispose]();
  await until("the third instance is removed", async () => (await instances(url)).length === 2);
  await until(
    "another instance finds that it is gone",
    () => firstLock.goneInstances() + secondLock.goneInstances() > 0,
  );
  assert.equal(firstLock.goneInstances() + secondLock.goneInstances(), 1);
});

Deno.test("instance lock: a starting instance detects an instance that ended earlier", async () => {
  const url = await createDatabase({ isNew: true });
  const endedLock = await openLock(url);
  await endedLock[Symbol.asyncDispose]();
  await using lock = await openLock(url);
  await until("the ended instance is found gone", () => lock.goneInstances() === 1);
  assert.deepEqual(await instances(url), [lock.token()]);
});

Deno.test("instance lock: an instance that stops during a recovery leaves it, and later ones, to another instance", async () => {
  const url = await createDatabase({ isNew: true });
  await using stopping = await openLock(url, { isRecovered: false });
  const endedLock = await openLock(url, { isRecovered: null });
  const ended = endedLock.token()!;
  await endedLock[Symbol.asyncDispose]();
  await until("the stopping instance is called", () => stopping.goneInstances() === 1);
  await until("it leaves the recovery", async () => (await instances(url)).includes(ended));
  await using other = await openLock(url);
  await until("the other instance recovers", () => other.goneInstances() === 1);
  assert.deepEqual(await instances(url), [stopping.token()!, other.token()!].sort((a, b) => a - b));
  assert.equal(stopping.goneInstances(), 1);
});

Deno.test("instance lock: an instance whose session is closed during a recovery leaves it to another instance", async () => {
  for (const recover of [() => Promise.resolve(false), () => new Promise<boolean>(() => {})]) {
    const url = await createDatabase({ isNew: true });
    const endedLock = await openLock(url, { isRecovered: null });
    const ended = endedLock.token()!;
    await endedLock[Symbol.asyncDispose]();
    const called = Promise.withResolvers<void>();
    const stopping = await openLock(url, { isRecovered: null });
    stopping.recoverOthers(() => (called.resolve(), recover()));
    await inTime("the instance recovers", called.promise);
    await stopping[Symbol.asyncDispose]();
    assert.ok((await instances(url)).includes(ended));
  }
});

Deno.test("instance lock: an instance that recovers no others leaves ended instances to those that do", async () => {
  const url = await createDatabase({ isNew: true });
  const endedLock = await openLock(url, { isRecovered: null });
  const ended = endedLock.token()!;
  await endedLock[Symbol.asyncDispose]();
  await using starting = await openLock(url, { isRecovered: null });
  const lastCheck = async () => {
    const [row] = await runSql(
      url,
      `select query_start::text from pg_stat_activity
        where datname = current_database() and application_name = 'payment-gateway lock'`,
    );
    return row!.query_start;
  };
  // A check can be under way, so only the second one from now surely ends after this.
  for (let checks = 0; checks < 2; checks++) {
    const before = await lastCheck();
    await until("the locks are checked", async () => await lastCheck() !== before);
  }
  assert.ok((await instances(url)).includes(ended));
  let recoveries = 0;
  starting.recoverOthers(() => Promise.resolve(++recoveries > 0));
  await until("the instance recovers", () => recoveries === 1);
  assert.deepEqual(await instances(url), [starting.token()]);
});

Deno.test("instance lock: an instance whose session is ended has no token until it has the lock again", async () => {
  const url = await createDatabase({ isNew: true });
  await using lock = await openLock(url);
  const token = lock.token()!;
  const findSession = async () => {
    const [row] = await runSql(
      url,
      `select pid from pg_stat_activity
        where datname = current_database() and application_name = 'payment-gateway lock'`,
    );
    return row?.pid;
  };
  const session = await findSession();
  await runSql(url, `select pg_terminate_backend(${session})`);
  await until("the loss is noticed", () => lock.losses.length === 1);
  await until("the lock is held again", () => lock.token() === token);
  assert.notEqual(await findSession(), session);
  assert.equal(await isFree(url, token), false);
  assert.deepEqual(await instances(url), [token]);
});

Deno.test("instance lock: the server frees the lock of a machine that it can no longer reach", async () => {
  const url = await createDatabase({ isNew: true });
  const gates = createGates();
  await using gated = openGatedDatabase(url, gates);
  await using lock = await openLock(gated.url);
  const token = lock.token()!;
  assert.equal(await isFree(url, token), false);
  // From now on the server receives nothing, not even the end of the connection.
  gates.statements.hold();
  await until("the instance has no token", () => lock.token() === null);
  await until("the lock is free", () => isFree(url, token));
  await until("the loss is reported", () => lock.losses.length > 0);
  assert.ok(lock.losses[0] instanceof DatabaseUnavailable, String(lock.losses[0]));
  gates.statements.drop();
});

Deno.test("instance lock: its session has short TCP timeouts", async () => {
  const url = await createDatabase({ isNew: true });
  const gates = createGates();
  const sent: Packet[] = [];
  gates.statements.hold((packet) => {
    sent.push(packet);
    return false;
  });
  await using gated = openGatedDatabase(url, gates);
  await using _ = await openLock(gated.url);
  const settings = JSON.parse(textOf(sent).match(/\{"tcp_keepalives_idle".*?\}/)![0]);
  const { tcp_keepalives_idle: idle, tcp_keepalives_interval: interval } = settings;
  assert.ok(Number(idle) + Number(interval) * Number(settings.tcp_keepalives_count) <= 15);
  assert.ok(Number(settings.tcp_user_timeout) <= 15_000);
  const sql = postgres(url, { max: 1 });
  try {
    for (const [name, value] of Object.entries<string>(settings)) {
      const [row] = await sql`select set_config(${name}, ${value}, false) as value`;
      assert.ok(row, `${name} can be set by any role`);
    }
  } finally {
    await sql.end();
  }
});

Deno.test("instance lock: if a pooler moves the instance to another session, the instance loses its token", async () => {
  const url = await createDatabase({ isNew: true });
  await using pooler = openTransactionPooler(url);
  await using lock = await openLock(pooler.url);
  const token = lock.token()!;
  assert.equal(await isFree(url, token), false);
  const otherClient = postgres(pooler.url, { max: 1, fetch_types: false });
  try {
    await otherClient`select 1`;
    pooler.exchangeSessions();
    // On a busy machine, the token can be missing for another reason before.
    await until("the loss is reported", () => /session mode/.test(String(lock.losses)));
    assert.equal(lock.token(), null);
  } finally {
    await otherClient.end();
  }
});

Deno.test("instance lock: while another session holds the lock, the instance has no token", async () => {
  const url = await createDatabase({ isNew: true });
  const token = randomInt(2 ** 40);
  const otherClient = postgres(url, { max: 1 });
  await otherClient`select pg_advisory_lock(${token}::bigint)`;
  await using lock = await openLock(url, { token });
  assert.equal(lock.token(), null);
  assert.equal(lock.losses.length, 1);
  await otherClient.end();
  await until("the lock is held", () => lock.token() === token);
});

Deno.test("instance lock: while the database is unreachable, the instance has no token", async () => {
  const url = await createDatabase({ isNew: true });
  const { proxy, url: proxied } = throughProxy(url);
  await using _ = proxy;
  proxy.cut();
  await using lock = await openLock(proxied);
  assert.equal(lock.token(), null);
  proxy.restore();
  await until("the lock is held", () => lock.token() !== null);
  assert.equal(lock.losses.length, 1);
});
