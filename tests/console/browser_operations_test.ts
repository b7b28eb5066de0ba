import assert from "node:assert/strict";
import { BROWSER, openConsole } from "../support/console/browser.ts";
import { addOperations } from "../support/console/operations.ts";
import { runSql } from "../support/database/database.ts";
import { CHALLENGED_CARD } from "../support/gateway/sandbox.ts";

Deno.test({
  name:
    "console in a browser: follows events live, sends a webhook again, replays a notification, and a double click adds one endpoint",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, url, signIn } = opened;
    const [eventPath, , , , , notificationPath] = await addOperations(payments);
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error: Error) => problems.push(String(error)));
    await signIn(page, await payments.app.createKey({ isStaff: true }));

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
  },
});

Deno.test({
  name:
    "console in a browser: the overview leads to a challenged card payment, which is approved by a click",
  ignore: BROWSER === null,
  sanitizeResources: false,
  async fn() {
    await using opened = await openConsole();
    const { payments, browser, signIn } = opened;
    const token_id = await payments.sandbox.token(CHALLENGED_CARD);
    const payment = await payments.charge("card", { token_id });
    const page = await browser.newPage();
    await signIn(page, await payments.app.createKey({ isStaff: true }));
    await page.getByRole("link", { name: "Card payments to review" }).click();
    await page.getByRole("link", { name: payment.order_id }).click();
    await page.getByText("Needs a review").first().waitFor();
    await page.getByRole("link", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("The payment is approved").waitFor();
    assert.equal((await payments.read(payment.id)).is_paid, true);
  },
});
