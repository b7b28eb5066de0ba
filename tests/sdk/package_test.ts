import assert from "node:assert/strict";
import { join } from "node:path";
import { findBrowser } from "../support/browser.ts";
import { callService } from "../support/client.ts";
import { openWebhookReceiver } from "../support/events/webhook_receiver.ts";
import { PROJECT } from "../support/project.ts";
import { createConsumer, joinCodeBlocks } from "../support/sdk.ts";
import { runInBrowser } from "../support/sdk_browser.ts";
import { preparedFolder, type ServiceProcess, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** Declares `process.env`, so that programs compile without Node's types. */
const NODE_TYPES = "declare const process: { env: Record<string, string | undefined> };";

const RUNTIMES = ["node", "deno"] as const;

/** The expected output of sdk/consumer/consumer.ts, by step. */
const OUTCOME = {
  lifecycle: [
    "pending",
    "settlement",
    "partial_refund",
    "partial_refund",
    "1000.00",
    "refund",
    "39000.00",
  ],
  otherCalls: ["cancel", "succeeded", "qris", "TimeoutError", false],
  lists: [true, true, true, true],
  codes: [
    ...["not_found", "invalid_state", "forbidden", "unauthenticated"],
    ...["validation_error", "validation_error"],
  ],
  invalid: [400, "gross_amount", true],
  ids: [true, 0],
  retries: [true, true, true],
  // Status, then the attempts of a read, of a write with a key, and of a write without a key.
  attempts: [
    [400, 1, 1, 1],
    ...[409, 429, 500, 502, 503, 504].map((status) => [status, 3, 3, 1]),
  ],
  notRetried: [1, 503, 3600, true, 1, 24, "enough", 2],
  streamed: ["payment_settled", "payment_refunded", true],
  lineEndings: ["payment_settled", "payment_settled"],
  outage: [1_000, 7_000, 30_000, true, 30_000, 1_000, 401],
  abortedStream: "enough",
  proxyResponses: [403, 403, 403, 200, 200],
  simulatedResponses: ["a+b", 200, 200, 200, 1],
  simulatedStreams: ["one\u2028two", null, "abc", "abc", "abc"],
};

/** The expected output of sdk/consumer/options.ts, by step. */
const OPTIONS_OUTCOME = {
  types: ["function", true],
  requestIds: [true, true, null, true, true, "of-proxy"],
  // The attempts with 0, 1 and 4 retries and with the default, then of a list call with 1 retry.
  limits: [[1, 2, 5, 3], 2, true, true, "enough", true],
  toArray: [true, 2, true, 0, true, 0],
  emptyKeys: [true, true, true, true],
  signed: [true, true],
};

/** The lines that the README's program prints after its first line. */
const README_OUTPUT = ["settlement", "4000.00", "true", "gross_amount", "200", "400", "200"];

/** Calls `receive` and `send` from the README; `listen` is only compiled. */
const README_DRIVER = `
const { url, headers, body } = JSON.parse(process.env.WEBHOOK ?? "");
for (const text of [body, body + " "]) {
  console.log((await receive(new Request(url, { method: "POST", headers, body: text }))).status);
}
console.log((await send(JSON.parse(body))).status);
export { listen };
`;

Deno.test("SDK package: all features and the README's program work in each runtime", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const [service, consumer] = await Promise.all([
    startService({ settings }),
    createConsumer({
      "node.d.ts": NODE_TYPES,
      "readme.ts": await joinCodeBlocks("sdk/README.md") + README_DRIVER,
      "consumer.ts": await Deno.readTextFile(join(PROJECT, "sdk/consumer/consumer.ts")),
      "options.ts": await Deno.readTextFile(join(PROJECT, "sdk/consumer/options.ts")),
    }),
  ]);
  await using _service = service;
  await using _consumer = consumer;
  const webhook = await captureWebhook(service);
  const consumerSettings = (url: string, sandbox: string) => ({
    CONSUMER: JSON.stringify({ url, sandbox, key: service.keys.user, webhook }),
  });
  const env = {
    ...consumerSettings(service.url, service.sandbox),
    PAYMENT_GATEWAY_KEY: service.keys.user,
    WEBHOOK_SECRET: webhook.secret,
    WEBHOOK: JSON.stringify(webhook),
  };
  const readme = join(consumer.path, "readme.ts");
  const code = await Deno.readTextFile(readme);
  assert.match(code, /127\.0\.0\.1:8000.*127\.0\.0\.1:8001/s);
  await Deno.writeTextFile(
    readme,
    code.replace("http://127.0.0.1:8000", service.url)
      .replace("http://127.0.0.1:8001", service.sandbox),
  );
  await consumer.compile(["node.d.ts", "readme.ts", "consumer.ts", "options.ts"]);
  assert.ok(["package.json", "README.md", "LICENSE", "lib/mod.js", "lib/mod.d.ts"]
    .every((name) => consumer.archivedFiles.includes(name)));
  assert.ok(
    consumer.archivedFiles.every((name) => !/(?<!\.d)\.ts$/.test(name)),
    "the archive must not contain sources",
  );
  await assertPublishable(consumer.path);
  const expected = {
    consumer: { ...OUTCOME, webhooks: [`tested: ${webhook.url}`, true, true] },
    options: OPTIONS_OUTCOME,
  };
  await Promise.all(RUNTIMES.map(async (runtime) => {
    const outcome = JSON.parse(await consumer.run(runtime, "consumer", env));
    assert.deepEqual(outcome, expected.consumer, runtime);
  }));
  // One after the other, because each run expects its own payments at the top of the list.
  for (const runtime of RUNTIMES) {
    const outcome = JSON.parse(await consumer.run(runtime, "options", env));
    assert.deepEqual(outcome, expected.options, runtime);
  }
  const browser = findBrowser();
  for (const name of browser ? ["consumer", "options"] as const : []) {
    const settings = (origin: string) => consumerSettings(origin, origin);
    const printed = await runInBrowser(browser!, consumer.path, name, service, settings);
    assert.deepEqual(JSON.parse(printed), expected[name], `Chromium, ${name}`);
  }
  // One after the other, because each run expects its own payment at the top of the list.
  for (const runtime of RUNTIMES) {
    const [firstLine, ...otherLines] = (await consumer.run(runtime, "readme", env)).trim().split(
      "\n",
    );
    assert.match(firstLine!, /^Show the customer http:/);
    assert.deepEqual(otherLines, README_OUTPUT, runtime);
  }
});

/** Fails unless the package has npm's fields, and the OpenAPI document's version and license. */
async function assertPublishable(folder: string): Promise<void> {
  const installed = join(folder, "node_modules/payment-gateway-client/package.json");
  const manifest = JSON.parse(await Deno.readTextFile(installed));
  const { info } = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));
  assert.deepEqual([manifest.version, manifest.license], [info.version, info.license.identifier]);
  for (const name of ["description", "keywords", "types", "exports", "engines"]) {
    assert.ok(manifest[name], name);
  }
  assert.equal(manifest.dependencies, undefined);
}

async function captureWebhook(service: ServiceProcess) {
  await using receiver = openWebhookReceiver();
  const postAsStaff = async (path: string, body?: object) => {
    const headers = {
      Authorization: `Bearer ${service.keys.staff}`,
      "Content-Type": "application/json",
    };
    const init = { method: "POST", headers, body: body && JSON.stringify(body) };
    const response = await callService(`${service.url}/webhook-endpoints/${path}`, init);
    return await response.json() as { id: string; secret: string };
  };
  const { id, secret } = await postAsStaff("", { url: receiver.url });
  await postAsStaff(`${id}/test/`);
  await until("the webhook arrives", () => receiver.received.length > 0);
  const { headers, body } = receiver.received[0]!;
  const signed = Object.entries(headers).filter(([name]) => name.startsWith("webhook-"));
  return {
    url: receiver.url,
    secret,
    headers: Object.fromEntries(signed),
    body: new TextDecoder().decode(body),
  };
}
