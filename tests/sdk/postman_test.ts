import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../support/project.ts";
import {
  DOWNLOAD_ENV,
  environment,
  preparedFolder,
  runTask,
  startService,
} from "../support/service.ts";
import { NEWMAN } from "../support/tools.ts";

/**
 * The requests that do not succeed if the whole collection runs, with their status. The payment was
 * cancelled by an earlier request, the job has not failed, the endpoint has no delivery, and the
 * card token of the example does not exist.
 */
const REFUSED: Record<string, number> = {
  "Create a charge: Card with 3-D Secure": 400,
  "Expire a payment": 400,
  "Refund a payment": 400,
  "Refund a payment: Refund of the full remaining amount": 400,
  "Refund a payment: Partial refund, synchronously through the bank or wallet": 400,
  "Capture an authorized payment": 400,
  "Capture an authorized payment: Partial capture; the remainder is released": 400,
  "Approve a challenged payment": 400,
  "Deny a challenged payment": 400,
  "Mark a refund as refused by the bank": 400,
  "Retry a failed job": 400,
  "Resend a delivery": 404,
};

/**
 * The statuses of these requests if the report is not compared yet, which takes a moment. The
 * gateway does not have the transaction of the example (400).
 */
const REFUSED_AT_FIRST: Record<string, number[]> = {
  "Mark a difference as resolved": [404],
  "Mark a difference as open again": [404],
  "Take over a transaction that is missing here": [404, 400],
  "Take over all transactions that are missing here": [400],
};

interface Item {
  name: string;
  item?: Item[];
  request?: { body?: { raw?: string } };
}

Deno.test("Postman collection: has every operation, and the requests of its first-payment folder succeed", async () => {
  await using folder = await preparedFolder();
  const [service, generated] = await Promise.all([
    startService({ settings: { DATA_DIR: folder.path } }),
    runTask(["postman", folder.path], DOWNLOAD_ENV),
  ]);
  await using _service = service;
  assert.equal(generated.code, 0, generated.stderr);
  const path = generated.stdout.trim();
  const collection = JSON.parse(await Deno.readTextFile(path));
  const document = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));
  const operations = Object.values<Record<string, { summary?: string }>>(document.paths)
    .flatMap((methods) => Object.values(methods)).flatMap(({ summary }) => summary ?? [])
    .filter((summary) => summary !== "Stream events");
  const [firstPayment, ...byTag] = collection.item as Item[];
  assert.deepEqual(
    byTag.map(({ name }) => name).sort(),
    document.tags.map(({ name }: Item) => name).sort(),
  );
  const names = byTag.flatMap(({ item = [] }) => item.map(({ name }) => name));
  assert.deepEqual(operations.filter((summary) => !names.includes(summary)), []);
  assert.deepEqual(new Set(names).size, names.length);
  assert.doesNotMatch(
    JSON.stringify(collection),
    /<(string|integer|uuid)/,
    "every value must be an example",
  );

  const variableNames = (collection.variable as { key: string }[]).map(({ key }) => key)
    .filter((key) => key.includes("_"));
  assert.deepEqual(
    variableNames.sort(),
    [
      ...["checkout_id", "delivery_id", "difference_id", "invoice_id", "job_id", "key_prefix"],
      ...["next_cursor", "notification_id", "order_id", "payment_id", "reconciliation_id"],
      ...["refund_id", "subscription_id", "webhook_endpoint_id"],
    ],
    "an id has one variable, even if several paths contain it",
  );

  const variables = {
    baseUrl: service.url,
    sandboxUrl: service.sandbox,
    apiKey: service.keys.user,
  };
  const report = await runCollection(path, firstPayment!.name, variables);
  const { stats, failures } = report.run;
  assert.deepEqual(failures.map(({ error }) => error.message), []);
  assert.equal(stats.requests.total, 10);
  assert.equal(stats.assertions.total, 16, "each request has an assertion, some have more");

  const refused = await runCollection(path, firstPayment!.name, {
    ...variables,
    apiKey: "gk_wrong",
  });
  assert.equal(
    refused.run.failures.length,
    stats.assertions.total,
    "with a wrong key, every assertion fails",
  );
});

Deno.test("Postman collection: every request of a run of the whole collection has the expected status", async () => {
  await using folder = await preparedFolder();
  const [service, generated] = await Promise.all([
    startService({ settings: { DATA_DIR: folder.path } }),
    runTask(["postman", folder.path], DOWNLOAD_ENV),
  ]);
  await using _service = service;
  assert.equal(generated.code, 0, generated.stderr);
  const { run } = await runCollection(generated.stdout.trim(), null, {
    baseUrl: service.url,
    sandboxUrl: service.sandbox,
    apiKey: service.keys.staff,
  });
  const failed = run.executions.filter(({ assertions }) => assertions?.some(({ error }) => error));
  const refused = failed.map(({ item, response }) => [item.name, response?.code] as const)
    .filter(([name, code]) => !REFUSED_AT_FIRST[name]?.includes(code ?? 0));
  assert.deepEqual(Object.fromEntries(refused), REFUSED);
  assert.ok(run.executions.length > 80);
});

/** The report of Newman, Postman's command-line runner. */
interface Report {
  run: {
    stats: { requests: { total: number }; assertions: { total: number } };
    failures: { error: { message: string } }[];
    executions: {
      item: { name: string };
      response?: { code: number };
      assertions?: { error?: { message: string } }[];
    }[];
  };
}

async function runCollection(
  path: string,
  folder: string | null,
  variables: Record<string, string>,
): Promise<Report> {
  const report = `${path}.report.json`;
  const variableArgs = Object.entries(variables).flatMap(([key, value]) => [
    "--env-var",
    `${key}=${value}`,
  ]);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "-A", "--no-lock", "--no-config", NEWMAN, "run", path],
      ...[...(folder === null ? [] : ["--folder", folder]), ...variableArgs, "--reporters", "json"],
      ...["--reporter-json-export", report],
    ],
    env: environment(DOWNLOAD_ENV),
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = await Deno.readTextFile(report).catch(() =>
    assert.fail(new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr))
  );
  await Deno.remove(report);
  return JSON.parse(text);
}
