import assert from "node:assert/strict";
import { createDatabase, runSql } from "../support/database/database.ts";
import { savedCard } from "../support/gateway/sandbox.ts";
import { assertProblem } from "../support/problem.ts";
import {
  openSubscriptions,
  parseSubscription,
  type TestSubscriptions,
} from "../support/records/subscriptions.ts";

const databaseUrl = await createDatabase();

async function update(
  { app, key }: TestSubscriptions,
  id: string,
  body: unknown,
  headers: Record<string, string> = {},
  caller = key,
): Promise<Response> {
  return await app.as(caller, `/subscriptions/${id}/`, {
    method: "PATCH",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

Deno.test("PATCH /subscriptions/{pk}/: changes name, amount, interval and retries, in the service and at the gateway", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const before = await subscriptions.create();
  const token = await savedCard(subscriptions.sandbox);
  const retry_schedule = { interval: 2, interval_unit: "day", max_interval: 1 };
  const changes = { name: "new-club", amount: 30_000, interval: 2 };
  const response = await update(subscriptions, before.id, { token, ...changes, retry_schedule });
  const after = await parseSubscription(response, 200);
  assert.deepEqual([after.name, after.amount, after.interval], ["new-club", "30000.00", 2]);
  assert.deepEqual(await subscriptions.stored(before.id), after);
  const atGateway = await subscriptions.atGateway(before);
  assert.deepEqual(
    [atGateway.name, atGateway.amount, atGateway.schedule.interval, atGateway.token],
    ["new-club", "30000", 2, token],
  );
  assert.deepEqual(atGateway.retry_schedule, retry_schedule);
});

Deno.test("PATCH /subscriptions/{pk}/: with a token alone replaces the token and keeps the rest", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const before = await subscriptions.create();
  const token = await savedCard(subscriptions.sandbox);
  const body = { token, name: null, amount: null };
  const after = await parseSubscription(await update(subscriptions, before.id, body), 200);
  assert.deepEqual({ ...after, updated_at: before.updated_at }, before);
  assert.equal((await subscriptions.atGateway(before)).token, token);
});

Deno.test("PATCH /subscriptions/{pk}/: a repeated Idempotency-Key returns the first response, and no token is stored", async () => {
  const ownDatabase = await createDatabase();
  await using subscriptions = await openSubscriptions({ databaseUrl: ownDatabase });
  const { id } = await subscriptions.create();
  const token = await savedCard(subscriptions.sandbox);
  const body = { token, amount: 30_000 };
  const headers = { "Idempotency-Key": "update-1" };
  const updated = await parseSubscription(await update(subscriptions, id, body, headers), 200);
  const again = await update(subscriptions, id, body, headers);
  assert.equal(again.headers.get("Idempotency-Replayed"), "true");
  assert.deepEqual(await parseSubscription(again, 200), updated);
  const updates = subscriptions.relay.received.filter(({ method }) => method === "PATCH");
  assert.equal(updates.length, 1);
  const other = await update(subscriptions, id, { token, amount: 31_000 }, headers);
  await assertProblem(other, 422, "idempotency_key_reused");
  const stored = await runSql(ownDatabase, "select k::text from gateway.idempotency_keys k");
  assert.ok(stored.length > 0 && !JSON.stringify(stored).includes(token));
});

Deno.test("PATCH /subscriptions/{pk}/: after a lost response, a retry with the same key completes the update", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const { id } = await subscriptions.create();
  const token = await savedCard(subscriptions.sandbox);
  const body = { token, amount: 30_000 };
  const headers = { "Idempotency-Key": "update-2" };
  await subscriptions.sandbox.fault("subscription_update", "answer_lost");
  const lost = await update(subscriptions, id, body, headers);
  const problem = await assertProblem(lost, 502, "gateway_unreachable");
  assert.deepEqual([problem.subscription_id, problem.outcome], [id, "unknown"]);
  const updated = await parseSubscription(await update(subscriptions, id, body, headers), 200);
  assert.equal(updated.amount, "30000.00");
});

Deno.test("PATCH /subscriptions/{pk}/: after a lost response, an update without name and amount keeps those of the gateway", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const before = await subscriptions.create();
  const token = await savedCard(subscriptions.sandbox);
  await subscriptions.sandbox.fault("subscription_update", "answer_lost");
  const changes = { token, name: "new-club", amount: 30_000 };
  const lost = await update(subscriptions, before.id, changes);
  await assertProblem(lost, 502, "gateway_unreachable");
  const after = await parseSubscription(await update(subscriptions, before.id, { token }), 200);
  assert.deepEqual([after.name, after.amount], ["new-club", "30000.00"]);
  const { name, amount } = await subscriptions.atGateway(before);
  assert.deepEqual([name, amount], ["new-club", "30000"]);
});

Deno.test("PATCH /subscriptions/{pk}/: an update without amount is not sent if the gateway does not tell the current one", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const { id } = await subscriptions.create();
  subscriptions.relay.intercept = ({ method }, pass) =>
    method === "GET" ? new Response("down", { status: 500 }) : pass();
  const { outcome } = await (await update(subscriptions, id, { token: "x", name: "y" })).json();
  assert.equal(outcome, "refused");
  assert.ok(subscriptions.relay.received.every(({ method }) => method !== "PATCH"));
});

Deno.test("PATCH /subscriptions/{pk}/: rejects invalid fields, and the error names each of them", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const { id } = await subscriptions.create();
  const calls = subscriptions.relay.received.length;
  const cases: [body: unknown, fields: string[]][] = [
    [{}, ["token"]],
    [{ token: "" }, ["token"]],
    [{ token: "x", amount: 0, interval: 0 }, ["amount", "interval"]],
    [{ token: "x", amount: "5" }, ["amount"]],
    [{ token: "x", name: "a/b" }, ["name"]],
    [{ token: "x", interval_unit: "day" }, ["interval_unit"]],
    [{ token: "x", retry_schedule: { interval: 1 } }, [
      "retry_schedule.interval_unit",
      "retry_schedule.max_interval",
    ]],
    [[], ["body"]],
  ];
  for (const [body, fields] of cases) {
    const response = await update(subscriptions, id, body);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), fields, JSON.stringify(body));
  }
  assert.equal(subscriptions.relay.received.length, calls);
});

const INVALID_TOKEN = {
  status_code: "400",
  status_message: "One or more parameters in the payload is invalid.",
  validation_messages: ["subscription.token is invalid"],
};

Deno.test("PATCH /subscriptions/{pk}/: a token that the gateway rejects changes nothing", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const before = await subscriptions.create();
  subscriptions.relay.intercept = (request, pass) =>
    request.method === "PATCH" ? Response.json(INVALID_TOKEN, { status: 400 }) : pass();
  const response = await update(subscriptions, before.id, { token: "unknown", amount: 30_000 });
  const { outcome } = await assertProblem(response, 400, "gateway_validation");
  assert.equal(outcome, "refused");
  assert.equal((await subscriptions.stored(before.id)).amount, before.amount);
});

Deno.test("PATCH /subscriptions/{pk}/: rejects the update of a cancelled subscription and of another user's subscription", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const { id } = await subscriptions.create();
  const bob = await subscriptions.app.createKey({ userId: "bob" });
  const body = { token: "x", amount: 30_000 };
  for (const target of [id, "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5", "x"]) {
    await assertProblem(await update(subscriptions, target, body, {}, bob), 404, "not_found");
  }
  await subscriptions.actAndParse(id, "cancel");
  const problem = await assertProblem(
    await update(subscriptions, id, body),
    400,
    "invalid_state",
  );
  assert.equal(problem.subscription_status, "cancelled");
});
