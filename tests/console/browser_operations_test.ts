import assert from "node:assert/strict";
import { findBrowser, launchBrowser } from "../support/browser.ts";
import { runSql } from "../support/database/database.ts";
import { addOperations } from "../support/console/operations.ts";
import { openPayments } from "../support/payments/payments.ts";

const browserPath = findBrowser();

Deno.test({
  name:
    "console in a browser: follows events live, sends a webhook again, replays a notification, and a double click adds one endpoint",
  ignore: browserPath === null,
  sanitizeResources: false,
  async fn() {
    await using payments = await openPayments();
    const [eventPath, , , , , notificationPath] = await addOperations(payments);
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      (request, { remoteAddr }) => payments.app.fetchUnchecked(request, { remoteAddr }),
    );
    await using browser = await launchBrowser(browserPath!);
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error: Error) => problems.push(String(error)));
    const url = `http://127.0.0.1:${server.addr.port}/console`;
    await page.goto(`${url}/sign-in/`);
    await page.getByLabel("API key or JWT").fill(await payments.app.createKey({ isStaff: true }));
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();

    await Promise.all([page.waitForResponse(/\/live\//), page.goto(`${url}/events/`)]);
    await page.getByText("Event: Any").click();
    await page.getByLabel("payment_received").check();
    await page.getByRole("heading", { name: "Events" }).click();
    const { order_id } = await payments.charge("bca");
    await page.getByRole("link", { name: order_id }).waitFor();
    assert.ok(await page.getByLabel("payment_received").isChecked(), "the filter is kept");

    await page.goto(`${url}/${eventPath}/`);
    await page.getByText("502").first().waitFor();
    await page.getByRole("button", { name: "Send again" }).click();
    await page.getByText("The webhook is sent again").waitFor();
    await page.getByText("Waiting").first().waitFor();

    await page.goto(`${url}/${notificationPath}/`);
    await page.getByText("Not confirmed").waitFor();
    await page.getByRole("button", { name: "Process again" }).click();
    await page.getByText("was processed again").waitFor();
    await page.getByText("Nothing new").waitFor();

    await page.goto(`${url}/webhooks/new/`);
    await page.getByLabel("URL").fill("https://other.example/hooks");
    await page.getByRole("button", { name: "Add an endpoint" }).dblclick();
    await page.getByText(/whsec_/).waitFor();
    const rows = await runSql(
      payments.databaseUrl,
      "select url from gateway.webhook_endpoints where url = 'https://other.example/hooks'",
    );
    assert.equal(rows.length, 1);
    assert.deepEqual(problems, []);
    await page.close();
    await payments.app.streams[Symbol.asyncDispose]();
  },
});
