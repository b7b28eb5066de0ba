import assert from "node:assert/strict";
import { openDemoCheckout } from "../../commands/demo_checkout.ts";
import { DEVELOPER } from "../../commands/development_keys.ts";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { openCheckouts } from "../support/checkouts/checkouts.ts";
import { manualClock } from "../support/manual_clock.ts";

const HOUR_MS = 60 * 60_000;

Deno.test("demo checkout: a restart shows the same one until it ends, and never one of the developer", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const { app } = checkouts;
  const key = await app.createKey({ userId: DEVELOPER });
  const order = { gross_amount: 44_000 };
  const own = await (await checkouts.post("/checkouts/", order, {}, key)).json();
  const demo = await openDemoCheckout(app.service);
  assert.notEqual(demo, own.checkout_url);
  await checkouts.post("/checkouts/", order, {}, key);
  assert.equal(await openDemoCheckout(app.service), demo);

  advance(23 * HOUR_MS);
  const second = await openDemoCheckout(app.service);
  assert.notEqual(second, demo, "the first one ends within an hour");
  const listed = await (await checkouts.get("/checkouts/?limit=1", key)).json();
  assert.equal(
    (await checkouts.post(`/checkouts/${listed[0].id}/cancel/`, {}, {}, key)).status,
    200,
  );
  assert.notEqual(await openDemoCheckout(app.service), second);
});

Deno.test("demo checkout: the service starts without it if the database does not respond in time", async () => {
  let isSlow = false;
  await using checkouts = await openCheckouts({
    wrapDatabase: (database): Database => ({
      ...database,
      query: async (work, name) => {
        if (isSlow) throw new DatabaseUnavailable("No response");
        return await database.query(work, name);
      },
    }),
  });
  isSlow = true;
  assert.equal(await openDemoCheckout(checkouts.app.service), null);
  isSlow = false;
  const logged = checkouts.app.logged().filter(({ event }) => event === "demo_checkout_failed");
  assert.equal(logged.length, 1);
});
