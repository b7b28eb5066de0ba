import assert from "node:assert/strict";
import {
  pause,
  sleep,
  unlessAborted,
  waitAtMost,
  withTimeLimit,
} from "../../concurrency/deadlines.ts";
import { createLane } from "../../concurrency/lane.ts";
import { createLimiter } from "../../concurrency/limiter.ts";
import { serializeByKey } from "../../concurrency/serialize_by_key.ts";

/** Waits until all pending work has run that needs neither a timer nor the network. */
const runPending = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("sleep: rejects with the signal's reason and leaves no timer", async () => {
  const reason = new Error("stop");
  const abort = new AbortController();
  const sleeping = sleep(60_000, abort.signal);
  abort.abort(reason);
  await assert.rejects(sleeping, reason);
  await assert.rejects(sleep(0, AbortSignal.abort(reason)), reason);
});

Deno.test("waitAtMost: resolves when the promise resolves or the time is up, and rejects if the promise rejects", async () => {
  await waitAtMost(60_000, Promise.resolve());
  await waitAtMost(1, new Promise(() => {}));
  await assert.rejects(waitAtMost(60_000, Promise.reject(new Error("broken"))), /broken/);
});

Deno.test("withTimeLimit: rejects when the time is up and aborts the work's signal", async () => {
  let signal: AbortSignal | undefined;
  const limited = withTimeLimit(10, (workSignal) => {
    signal = workSignal;
    return new Promise(() => {});
  });
  await assert.rejects(limited, { message: "Timed out after 0.01 s" });
  assert.equal(signal?.aborted, true);
  assert.equal(await withTimeLimit(60_000, () => Promise.resolve(7)), 7);
});

Deno.test("pause: ends when the time is up, a signal is aborted or the promise resolves", async () => {
  const [stop, other] = [new AbortController(), new AbortController()];
  await pause(1, [stop.signal]);
  const { promise, resolve } = Promise.withResolvers<void>();
  const paused = pause(60_000, [stop.signal], promise);
  resolve();
  await paused;
  const aborted = pause(60_000, [stop.signal, other.signal]);
  other.abort();
  await aborted;
  await pause(60_000, [stop.signal, other.signal]);
});

Deno.test("unlessAborted: returns the result, or rejects with the reason of the signal", async () => {
  const stop = new AbortController();
  assert.equal(await unlessAborted(Promise.resolve(1), stop.signal), 1);
  await assert.rejects(unlessAborted(Promise.reject(new Error("failed")), stop.signal), /failed/);
  const pending = unlessAborted(new Promise(() => {}), stop.signal);
  stop.abort(new Error("lost"));
  await assert.rejects(pending, /lost/);
  await assert.rejects(unlessAborted(Promise.reject(new Error("failed")), stop.signal));
});

Deno.test("limiter: passes a released slot to the first waiting caller, and skips aborted callers", async () => {
  const limiter = createLimiter(1);
  const release = await limiter.acquire();
  const order: string[] = [];
  const abort = new AbortController();
  const aborted = limiter.acquire(abort.signal);
  const first = limiter.acquire().then((release) => (order.push("first"), release));
  const second = limiter.acquire().then((release) => (order.push("second"), release));
  abort.abort(new Error("stop"));
  await assert.rejects(aborted, /stop/);
  await runPending();
  assert.deepEqual(order, []);
  release();
  (await first)();
  (await second)();
  assert.deepEqual(order, ["first", "second"]);
  (await limiter.acquire())();
});

Deno.test("lane: runs a limited number of keys at the same time, and runs a key once if it is entered twice while it waits", async () => {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const lane = createLane(1, (key) => {
    started.push(key);
    const { promise, resolve } = Promise.withResolvers<string>();
    ends.set(key, () => resolve(`${key} done`));
    return promise;
  });
  const results = ["a", "b", "b"].map((key) => lane.enter(key));
  assert.deepEqual(started, ["a"]);
  ends.get("a")!();
  assert.equal(await results[0], "a done");
  assert.deepEqual(started, ["a", "b"]);
  const dropped = lane.enter("c");
  const closing = lane.close(60_000);
  assert.equal(await dropped, undefined);
  ends.get("b")!();
  await closing;
  assert.deepEqual(await Promise.all(results), ["a done", "b done", "b done"]);
  assert.equal(await lane.enter("d"), undefined);
  assert.deepEqual(started, ["a", "b"]);
});

Deno.test("lane: groups share the slots equally, and a group with one key does not wait for all keys of another group", async () => {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const lane = createLane(4, (key) => {
    started.push(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(key, resolve);
    return promise;
  });
  const enter = (group: string, count: number) => {
    for (let i = 1; i <= count; i++) lane.enter(`${group}${i}`, group);
  };
  const end = async (...keys: string[]) => {
    const before = started.length;
    for (const key of keys) {
      ends.get(key)!();
      await runPending();
    }
    return started.slice(before);
  };
  enter("a", 100);
  assert.deepEqual(started, ["a1", "a2", "a3", "a4"], "one group uses all slots if it is alone");
  enter("b", 100);
  assert.deepEqual(
    await end("a1", "a2"),
    ["b1", "b2"],
    "free slots go to the group with fewer slots",
  );
  assert.deepEqual(await end("a3", "b1"), ["a5", "b3"], "then each keeps its half");
  enter("c", 1);
  assert.deepEqual(await end("a4"), ["c1"]);
  assert.deepEqual(
    await end("c1"),
    ["a6"],
    "a group that has nothing more to do gives its slot back",
  );
  assert.deepEqual(await end("b2"), ["b4"]);
  ends.forEach((resolve) => resolve());
  await lane.close(60_000);
});

Deno.test("serializeByKey: work with the same key runs in order, even after a failure; work with different keys runs at the same time", async () => {
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = serializeByKey("one", async () => {
    await gate.promise;
    log.push("first");
    throw new Error("broken");
  });
  const second = serializeByKey("one", () => Promise.resolve(log.push("second")));
  await serializeByKey("two", () => Promise.resolve(log.push("other")));
  assert.deepEqual(log, ["other"]);
  gate.resolve();
  await assert.rejects(first, /broken/);
  await second;
  assert.deepEqual(log, ["other", "first", "second"]);
});
