import assert from "node:assert/strict";
import { complaints, openInstallation, SERVER_KEY } from "../support/doctor/installation.ts";
import { hasNginx } from "../support/nginx.ts";
import { sign } from "../support/gateway/notifications.ts";

const ignore = !await hasNginx();

Deno.test({
  name: "doctor's notification: is stored without a payment, and is in no list and no figure",
  ignore,
  async fn() {
    await using installation = await openInstallation();
    const { app, sandbox } = installation;
    const staff = await app.createKey({ isStaff: true });
    const read = async (path: string) => {
      const response = await app.as(staff, path);
      assert.equal(response.status, 200, path);
      return await response.json();
    };
    const figures = async () => {
      const { clock: _, load: _load, schedule: _schedule, ...status } = await read("/status/");
      const metrics = await (await app.as(staff, "/metrics")).text();
      const counted = metrics.split("\n").filter((line) =>
        /^payment_gateway_notifications/.test(line)
      );
      return { ...status, counted };
    };
    const before = await figures();
    assert.deepEqual(complaints(await installation.examine()), []);

    const stored = await app.database.query((sql) => sql`select * from gateway.notifications`);
    assert.equal(stored.length, 2);
    for (const { order_id, payment_id, raw_payload } of stored) {
      assert.match(order_id, /^doctor:[\da-f-]{36}$/);
      assert.equal(payment_id, null);
      assert.deepEqual(raw_payload.lost_headers, []);
      assert.ok(JSON.stringify(raw_payload).length < 1_000);
    }
    assert.deepEqual(await figures(), before);
    const [{ order_id }] = stored as unknown as [{ order_id: string }];
    for (const query of ["", "?status=unmatched", `?order_id=${encodeURIComponent(order_id)}`]) {
      assert.deepEqual(await read(`/notifications/${query}`), [], query);
    }
    for (const path of ["/payments/", "/events/", "/jobs/", "/keys/"]) {
      assert.doesNotMatch(JSON.stringify(await read(path)), /doctor/, path);
    }
    assert.deepEqual(app.enqueued, []);
    const calls = await sandbox.control("transactions", undefined, "GET");
    assert.deepEqual(calls, []);
  },
});

Deno.test({
  name: "doctor's notification: asks nothing of the gateway, also when it is replayed",
  ignore,
  async fn() {
    await using installation = await openInstallation();
    const { app, sandbox } = installation;
    await installation.examine();
    // Every further call would fail.
    await sandbox.fault("*", "error_500", { count: 100 });
    const staff = await app.createKey({ isStaff: true });
    const [row] = await app.database.query((sql) => sql`select id from gateway.notifications`);
    const path = `/notifications/${row!.id}/replay/`;
    const replayed = await app.as(staff, path, { method: "POST" });
    assert.equal(replayed.status, 200);
    assert.equal((await replayed.json()).payment_id, null);
  },
});

Deno.test("notification: an order id that only begins like a self-test is processed as usual", async () => {
  await using installation = await openInstallation({ server: null });
  const { app } = installation;
  const body = sign({
    order_id: "doctor:not-a-self-test",
    status_code: "200",
    gross_amount: "1000.00",
    transaction_status: "settlement",
  }, SERVER_KEY);
  const response = await app.request("/notification/", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200);
  const [row] = await app.database.query((sql) => sql`select * from gateway.notifications`);
  assert.equal(row!.status, "unmatched");
  assert.equal("lost_headers" in row!.raw_payload, false);
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const headers = { Authorization: `Bearer ${staff}` };
  const list = await (await app.request("/notifications/", { headers })).json();
  assert.deepEqual(list.map(({ order_id }: { order_id: string }) => order_id), [body.order_id]);
});
