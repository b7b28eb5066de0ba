import assert from "node:assert/strict";
import { callService } from "../support/client.ts";
import { openMailServer } from "../support/mail/mail_server.ts";
import { preparedFolder, runCommand, startError, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const MAIL_FROM = "payments@shop.example";

Deno.test("mail: the running service sends a receipt, with the permissions that its settings need", async () => {
  await using server = await openMailServer();
  await using folder = await preparedFolder();
  await using service = await startService({
    settings: {
      DATA_DIR: folder.path,
      // A name, because the library resolves it itself.
      SMTP_URL: `smtp://localhost:${server.port}`,
      MAIL_FROM,
      RECEIPT_EMAILS: "true",
    },
  });
  const charged = await callService(`${service.url}/charge/`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${service.keys.user}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({
      payment_type: "qris",
      gross_amount: 44_000,
      customer_details: { first_name: "Budi", email: "budi@customer.example" },
    }),
  });
  assert.equal(charged.status, 201, await charged.clone().text());
  const { order_id } = await charged.json();
  const paid = await fetch(`${service.sandbox}/_sandbox/transactions/${order_id}/pay`, {
    method: "POST",
  });
  await paid.body?.cancel();
  await until("the receipt has arrived", () => server.mails.length > 0);
  assert.deepEqual(server.mails[0]!.to, ["budi@customer.example"]);
});

Deno.test("mail: a wrong SMTP_URL stops the start with a message that has no password", async () => {
  await using folder = await preparedFolder();
  const { code, stdout, stderr } = await runCommand([], {
    DATA_DIR: folder.path,
    SMTP_URL: "http://user:wr0ng-secret@smtp.shop.example",
    MAIL_FROM,
  });
  assert.equal(code, 1);
  assert.match(startError(stderr), /SMTP_URL {2}must be smtps:\/\/user:password@host/);
  assert.doesNotMatch(stdout + stderr, /wr0ng/);
});
