import assert from "node:assert/strict";
import { sendUntilAnswered } from "../support/client.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { createDatabase } from "../support/database/database.ts";
import { checkOutRelease } from "../support/git.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { type ServiceProcess, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const FIRST_RELEASE = "1.0.0";

const SERVER_KEY = "SB-Mid-server-upgrade-test";

const STAFF_KEY = `gk_${"u".repeat(43)}`;

const RUN = [Deno.execPath(), "run", "-A", "--no-prompt", "main.ts"];

/** The responses of the release are not those of the current document, which has more members. */
async function call(service: ServiceProcess, path: string, init: RequestInit = {}) {
  const headers = { Authorization: `Bearer ${STAFF_KEY}`, "Content-Type": "application/json" };
  const url = new URL(path, service.url);
  const response = await sendUntilAnswered(() => fetch(url, { ...init, headers }));
  return { status: response.status, body: await response.json() };
}

function post(service: ServiceProcess, path: string, body: object) {
  return call(service, path, { method: "POST", body: JSON.stringify(body) });
}

/** Charges, one after the other, until it is stopped. */
function keepCharging(service: ServiceProcess) {
  const ids: string[] = [];
  let isStopped = false;
  async function chargeAll() {
    while (!isStopped) {
      const charge = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 };
      const { status, body } = await post(service, "/charge/", charge);
      assert.equal(status, 201, JSON.stringify(body));
      ids.push(body.id);
    }
    return ids;
  }
  const charging = chargeAll();
  return {
    ids,
    stop() {
      isStopped = true;
      return charging;
    },
  };
}

Deno.test("upgrade: a database of the first release is migrated while both versions charge, and both serve all payments", async () => {
  await using release = await checkOutRelease(FIRST_RELEASE);
  if (release === null) return;
  await using box = await openSandbox({ serverKey: SERVER_KEY });
  const settings = {
    DATABASE_URL: await createDatabase({ template: null }),
    GATEWAY_SERVER_KEY: SERVER_KEY,
    GATEWAY_BASE_URL: box.url,
    BOOTSTRAP_STAFF_KEY: STAFF_KEY,
  };
  await using released = await startUntilUp(settings, { cwd: release.path, command: RUN });
  const invoice = await post(released, "/invoices/", {
    customer_name: "Budi Utomo",
    due_date: "2099-12-31",
    items: [{ description: "Beans", price: 150_000, quantity: 2 }],
  });
  assert.equal(invoice.status, 201);
  const onReleased = keepCharging(released);
  await until("the released version charges", () => onReleased.ids.length >= 3);

  await using upgraded = await startService({ settings });
  const onUpgraded = keepCharging(upgraded);
  const before = onReleased.ids.length;
  await until("both versions charge", () => {
    return onReleased.ids.length >= before + 3 && onUpgraded.ids.length >= 3;
  });
  const ids = [...await onReleased.stop(), ...await onUpgraded.stop()];

  const notification = new URL("/notification/", released.url).href;
  await box.control("settings", { notification_url: notification }, "PATCH");
  for (const id of [ids[0]!, ids.at(-1)!]) {
    const { body } = await call(upgraded, `/payments/${id}/`);
    await box.control(`transactions/${body.order_id}/pay`);
  }
  for (const service of [released, upgraded]) {
    for (const id of ids) {
      assert.equal((await call(service, `/payments/${id}/`)).status, 200);
    }
    const paths = [`/invoices/${invoice.body.id}/`, "/events/", "/status/", "/health/ready/"];
    for (const path of paths) assert.equal((await call(service, path)).status, 200, path);
    const settled = "/payments/?status=settlement";
    await until(
      "both payments are settled",
      async () => (await call(service, settled)).body.length === 2,
    );
  }
});
