import assert from "node:assert/strict";
import {
  pause,
  sleep,
  unlessAborted,
  waitAtMost,
  withTimeLimit,
} from "../../concurrency/deadlines.ts";
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
