import assert from "node:assert/strict";
import { join } from "node:path";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { JobSchema } from "../../routes/schemas/job.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { createDataFolder, PROJECT } from "../support/project.ts";
import { startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const SERVER_KEY = "Mid-server-deploy";
const STAFF_KEY = "gk_" + "d".repeat(43);

/** The permissions on Deno Deploy: the service cannot write files or run programs. */
const PERMISSIONS = ["--allow-net", "--allow-env", "--allow-read", "--allow-sys=homedir"];

/** The project's configuration without the unstable features that Deno Deploy does not have. */
async function configWithoutKv(folder: string): Promise<string> {
  const path = join(folder, "deno.json");
  const config = JSON.parse(await Deno.readTextFile(join(PROJECT, "deno.json")));
  await Deno.writeTextFile(path, JSON.stringify({ ...config, lock: false, unstable: ["cron"] }));
  return path;
}

Deno.test("Deno Deploy: main.ts serves a charge, a notification and a job with only the permissions of Deno Deploy", async () => {
  await using folder = await createDataFolder();
  const flags = ["--no-prompt", `--config=${await configWithoutKv(folder.path)}`, ...PERMISSIONS];
  await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
  await using service = await startService({
    command: [Deno.execPath(), "run", ...flags, "main.ts"],
    settings: {
      HOST: "127.0.0.1",
      DATABASE_URL: await createDatabase({ template: null }),
      GATEWAY_BASE_URL: sandbox.url,
      GATEWAY_SERVER_KEY: SERVER_KEY,
      BOOTSTRAP_STAFF_KEY: STAFF_KEY,
    },
  });
  sandbox.receiver.answer = ({ text }) =>
    callService(`${service.url}/notification/`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: text,
    });
  const charge = (headers: HeadersInit = {}) =>
    callService(`${service.url}/charge/`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${STAFF_KEY}`,
        "Content-Type": "application/json",
        ...headers,
      },
      body: JSON.stringify({ payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 }),
    });
  const read = async (path: string) => JSON.parse((await service.get(path, STAFF_KEY)).text);

  const charged = await charge();
  assert.equal(charged.status, 201);
  const payment = PaymentSchema.parse(await charged.json());
  await sandbox.control(`transactions/${payment.transaction_id}/pay`);
  await sandbox.waitForWebhooks();
  const paid = PaymentSchema.parse(await read(`/payments/${payment.id}/`));
  assert.equal(paid.transaction_status, "settlement");

  const accepted = await charge({ Prefer: "respond-async" });
  assert.equal(accepted.status, 202);
  const { id } = JobSchema.parse(await accepted.json());
  const job = async () => JobSchema.parse(await read(`/jobs/${id}/`));
  await until("the job has succeeded", async () => (await job()).status === "succeeded");
  assert.equal((await read("/payments/")).length, 2);

  service.signal("SIGTERM");
  assert.equal((await service.ended).code, 0, service.output());
  assert.doesNotMatch(service.output(), /"level":"error"/);
});
