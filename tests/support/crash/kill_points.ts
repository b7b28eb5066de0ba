/** The moments at which crash tests kill the service, and the retries of its clients afterwards. */

import assert from "node:assert/strict";
import type { z } from "zod";
import { createRandom, seededState } from "../../../sandbox/engine/random.ts";
import { type Packet, textOf } from "../database/gated_database.ts";
import { until } from "../until.ts";
import type { Installation, Reply, RequestWithKey } from "./installation.ts";

/** The part that the installations for payments and for other records share. */
type Killable = Omit<Installation, "sync">;

export interface Operation extends RequestWithKey {
  /** The status of a successful response. */
  status: number;
  /** The schema of a successful response. */
  schema: z.ZodType;
}

/** Waits until all operations have reached the moment at which the service is to be killed. */
export type KillPoint = (
  service: Killable,
  operations: Operation[],
  replies: Promise<unknown>,
) => Promise<unknown>;

export const BEFORE_CALL = "before the call to the gateway";
export const DURING_CALL = "during the call";
export const AT_ANY_MESSAGE = "after a random message";

interface KillPointOptions {
  /** Whether the replies to these operations are stored. */
  areRepliesStored(service: Killable, operations: Operation[]): Promise<boolean>;
  /** How many messages one round of operations exchanges, roughly. */
  messages: number;
  /** The seed for the choice of the random message. */
  seed: number;
}

export function createKillPoints(options: KillPointOptions): Record<string, KillPoint> {
  const random = createRandom(seededState(options.seed));
  return {
    [BEFORE_CALL]: async ({ calls }, operations) => {
      calls.hold();
      await until("all calls are held", () => calls.held().length >= operations.length);
    },
    [DURING_CALL]: holdResponses,
    "after the response, before it is stored": async (service, operations) => {
      await holdResponses(service, operations);
      service.statements.hold((packet) => operationsIn([packet], operations).length > 0);
      service.responses.release();
      await until(
        "all statements that store a response are held",
        () => operationsIn(service.statements.held(), operations).length === operations.length,
      );
    },
    "after the commit, before the service learns of it": async (service, operations) => {
      await holdResponses(service, operations);
      const writingConnections = new Set<number>();
      // Statements pass. Once a connection has sent a statement that stores a reply, the database's
      // results for that connection are held back.
      service.statements.hold((packet) => {
        if (operationsIn([packet], operations).length > 0) {
          writingConnections.add(packet.connection);
        }
        return false;
      });
      service.results.hold(({ connection }) => writingConnections.has(connection));
      service.responses.release();
      await until("all responses are stored", () => options.areRepliesStored(service, operations));
    },
    [AT_ANY_MESSAGE]: async (service, _operations, replies) => {
      service.killAfter(1 + random.below(options.messages));
      await replies;
    },
  };
}

/** Waits until the gateway has processed all calls, and holds its responses back. */
export async function holdResponses(
  { responses }: Killable,
  operations: Operation[],
): Promise<void> {
  responses.hold();
  await until("all responses are held", () => responses.held().length >= operations.length);
}

/** The operations whose replies the packets store, found by their idempotency keys. */
function operationsIn(packets: Packet[], operations: Operation[]): Operation[] {
  const text = textOf(packets);
  return operations.filter(({ key }) => text.includes(key));
}

/** A kill point, and how clients and background checks continue after the restart. */
interface Round<R> {
  moment: string;
  killPoint: KillPoint;
  recovery: string;
  recover: R;
  /** Whether the gateway's responses contain the metadata of a transaction. */
  hasMetadata: boolean;
}

/**
 * Every combination once. The number of kill points is odd and there are four recoveries, so that
 * the first rounds differ in all respects.
 */
export function planRounds<R>(
  killPoints: Record<string, KillPoint>,
  recoveries: Record<string, R>,
): Round<R>[] {
  const [points, ways] = [Object.entries(killPoints), Object.entries(recoveries)];
  return Array.from({ length: points.length * ways.length * 2 }, (_, round) => {
    const [moment, killPoint] = points[round % points.length]!;
    const [recovery, recover] = ways[round % ways.length]!;
    const hasMetadata = (round + Math.floor(round / ways.length)) % 2 === 1;
    return { moment, killPoint, recovery, recover, hasMetadata };
  });
}

/**
 * A step that leaves the service running, which `deno test` would report as a leak. The test itself
 * is still checked for leaks.
 */
export async function runStep(
  t: Deno.TestContext,
  name: string,
  fn: () => Promise<void>,
): Promise<void> {
  const hasPassed = await t.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
  assert.ok(hasPassed, "the next steps need the state that this step leaves");
}

interface Crash<O extends Operation> {
  operations: O[];
  killPoint: KillPoint;
  /** Repeats one operation after the restart. */
  retry: (operation: O) => Promise<Reply>;
  /**
   * Repeats all operations with `retryAll`, and runs background checks before, during or after it.
   */
  recover: (retryAll: () => Promise<Reply[]>) => Promise<Reply[]>;
}

/**
 * Sends all operations at the same time, kills the service, starts it again and repeats the
 * operations. A client that had a successful response before the crash must get it again.
 */
export async function crashAndRecover<O extends Operation>(
  service: Killable,
  { operations, killPoint, retry, recover }: Crash<O>,
): Promise<Reply[]> {
  const sent = operations.map((operation) => sendUntilAnswered(service, operation));
  await killPoint(service, operations, Promise.all(sent));
  await service.kill();
  const before = await Promise.all(sent);

  // The leases of the killed service have not expired: the retries take over its keys at once.
  await service.start();
  const replies = await recover(() => Promise.all(operations.map(retry)));
  for (const [index, reply] of replies.entries()) {
    const first = before[index];
    if (first && first.status < 300) assert.deepEqual(reply, { ...first, isReplayed: true });
  }
  return replies;
}

/** Sends the operation twice: the second response must be a replay of the first. */
export async function retryTwice(service: Killable, operation: Operation): Promise<Reply> {
  const reply = await sendUntilSuccess(service, operation);
  assert.deepEqual(await sendUntilSuccess(service, operation), { ...reply, isReplayed: true });
  return reply;
}

export async function sendUntilSuccess(service: Killable, operation: Operation): Promise<Reply> {
  const reply = await sendUntilAnswered(service, operation);
  assert.equal(reply?.status, operation.status, `${operation.path} ${JSON.stringify(reply?.body)}`);
  operation.schema.parse(reply!.body);
  return reply!;
}

/**
 * Retries after a 503, as clients do: on a slow machine the service can exceed its own time limits.
 * The result is `null` if the service is killed before it answers.
 */
async function sendUntilAnswered(service: Killable, operation: Operation) {
  let reply = await service.post(operation);
  await until(`${operation.path} has a response other than 503`, async () => {
    if (reply?.status !== 503) return true;
    await service.endLeases([operation]);
    reply = await service.post(operation);
    return false;
  });
  return reply;
}

/**
 * Sends the operation ten times at the same time: one runs, the others get its reply or 409. On a
 * slow machine some get 503.
 */
export async function retryConcurrently(service: Killable, operation: Operation): Promise<void> {
  const replies = await Promise.all(Array(10).fill(operation).map(service.post));
  const statuses = replies.map((reply) => reply?.status);
  assert.ok(
    statuses.includes(operation.status) || statuses.includes(503),
    `${operation.path} ${statuses}`,
  );
  assert.ok(
    statuses.every((status) => [operation.status, 409, 503].includes(status!)),
    JSON.stringify(replies),
  );
}
