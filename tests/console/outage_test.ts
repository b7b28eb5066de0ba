import assert from "node:assert/strict";
import { permissionFlags } from "../../commands/prepare.ts";
import { generateApiKey } from "../../core/secrets/api_key.ts";
import { launchBrowser } from "../support/browser.ts";
import { callService } from "../support/client.ts";
import { BROWSER, openConsole, signInByPage } from "../support/console/browser.ts";
import { signInTo } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { freePort } from "../support/free_port.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { openPayments } from "../support/payments/payments.ts";
import { createDataFolder, PROJECT } from "../support/project.ts";
import { PATIENT, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const SERVER_KEY = "SB-Mid-server-of-the-restart";

Deno.test("console: while the database is down, every page says so without details; then the session still works", async () => {
  const databaseUrl = await createDatabase({ isNew: true });
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  await using payments = await openPayments({ databaseUrl: url });
  const key = await payments.app.createKey({ isStaff: true });
  const staff = await signInTo(payments.app, key);
  proxy.cut();
  for (const path of ["payments", "events", "webhooks", "jobs", "status", "audit", "sessions"]) {
    const page = await staff.open(`/console/${path}/`);
    assert.equal(page.status, 503, path);
    assert.match(page.html, /temporarily unavailable/);
    assert.match(page.html, /loaded again every few seconds/);
    assert.doesNotMatch(
      page.html,
      /postgres|ECONN|\bat .*\.tsx?:|Error:/i,
      "no details of the failure",
    );
    assert.equal(page.headers.get("refresh"), "5");
    assert.match(page.headers.get("content-security-policy")!, /frame-ancestors 'none'/);
  }
  assert.equal((await staff.open("/console/sign-in/")).status, 200);
  const { token } = { token: staff.cookies.get("console_form")! };
  const refused = await staff.post("/console/sign-in/", { token, credential: key });
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get("refresh"), null, "a form is not sent again by itself");
  proxy.restore();
  await until(
    "the page is shown",
    async () => (await staff.open("/console/payments/")).status === 200,
  );
  assert.equal(staff.page.path, "/console/payments/", "the session still holds");
});

Deno.test({
  name: "console in a browser: a page that failed because the database was down recovers by itself",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    const databaseUrl = await createDatabase({ isNew: true });
    const { proxy, url } = throughProxy(databaseUrl);
    await using _ = proxy;
    await using opened = await openConsole({ databaseUrl: url });
    const { payments, browser, signIn } = opened;
    const payment = await payments.charge("bca");
    const page = await browser.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    proxy.cut();
    await page.goto(`${opened.url}/audit/`);
    await page.getByText("temporarily unavailable").waitFor();
    proxy.restore();
    await page.getByRole("heading", { name: "Audit" }).waitFor();
    await page.goto(`${opened.url}/payments/`);
    await page.getByText(payment.order_id).waitFor();
  },
});

Deno.test({
  name:
    "console in a browser: after a restart of the service, an open page connects again and updates, and the session holds",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
    await using folder = await createDataFolder();
    const key = generateApiKey();
    const settings = {
      HOST: "127.0.0.1",
      PORT: String(freePort()),
      DATABASE_URL: await createDatabase({ isNew: true }),
      DATA_DIR: folder.path,
      GATEWAY_BASE_URL: sandbox.url,
      GATEWAY_SERVER_KEY: SERVER_KEY,
      BOOTSTRAP_STAFF_KEY: key,
    };
    const flags = permissionFlags({ queue: "postgres", dataDir: folder.path }, null, PROJECT);
    const command = [Deno.execPath(), "run", "--no-prompt", PATIENT, ...flags, "main.ts"];
    const start = () => startService({ command, settings });
    await using browser = await launchBrowser(BROWSER!);
    const page = await browser.newPage();
    let service = await start();
    await signInByPage(page, `${service.url}/console`, key);
    await page.goto(`${service.url}/console/payments/`);
    await page.getByText(await charge(service.url, key)).waitFor();
    await page.evaluate("window.isSamePage = true");
    // After SIGTERM the service ends its streams; after SIGKILL it does not.
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      service.signal(signal);
      await service.ended;
      service = await start();
      // The page may connect only after the first charge; then it shows the second one live.
      for (const _ of ["first", "second"]) {
        await page.getByText(await charge(service.url, key)).waitFor();
      }
    }
    assert.ok(await page.evaluate("window.isSamePage"), "the page was not loaded again");
    await page.reload();
    await page.getByRole("heading", { name: "Payments" }).waitFor();
    await page.close();
    await service[Symbol.asyncDispose]();
  },
});

/** Returns the order id. */
async function charge(url: string, key: string): Promise<string> {
  const response = await callService(`${url}/charge/`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 }),
  });
  const { order_id } = await response.json();
  return order_id;
}
