import assert from "node:assert/strict";
import { join } from "node:path";
import { askService } from "../support/client.ts";
import { openWebhookReceiver } from "../support/events/webhook_receiver.ts";
import { PROJECT } from "../support/project.ts";
import { createConsumer, readmeProgram } from "../support/sdk.ts";
import { preparedFolder, type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** For the gateway and for balancers, not for programs. */
const NOT_OFFERED = ["getLiveness", "getReadiness", "receiveNotification"];

/** What a program without Node's types has to say to read its environment. */
const NODE = "declare const process: { env: Record<string, string | undefined> };";

const RUNTIMES = ["node", "deno"] as const;

/** What came of each step of sdk/consumer/consumer.ts. */
const OUTCOME = {
  life: [
    "pending",
    "settlement",
    "partial_refund",
    "partial_refund",
    "1000.00",
    "refund",
    "39000.00",
  ],
  others: ["cancel", "succeeded", "qris", "TimeoutError", false],
  lists: [true, true, true, true],
  codes: [
    ...["not_found", "invalid_state", "forbidden", "unauthenticated"],
    ...["validation_error", "validation_error"],
  ],
  invalid: [400, "gross_amount", true],
  ids: [true, 0],
  retries: [true, true, true],
  // Of a read, of a write with a key, and of one without.
  attempts: [
    [400, 1, 1, 1],
    ...[409, 429, 500, 502, 503, 504].map((status) => [status, 3, 3, 1]),
  ],
  givenUp: [1, 503, 3600, true, 1, 24, "enough", 2],
  streamed: ["payment_settled", "payment_refunded", true],
  lineEnds: ["payment_settled", "payment_settled"],
  outage: [1_000, 7_000, 30_000, true, 30_000, 1_000, 401],
  stopped: "enough",
  proxied: [403, 403, 403, 200, 200],
  madeUpAnswers: ["a+b", 200, 200, 200, 1],
  madeUpStreams: ["one\u2028two", null, "abc", "abc", "abc"],
};

/** What the README's program prints after its first line: four blocks, and two webhooks. */
const README_SAYS = ["settlement", "4000.00", "true", "gross_amount", "200", "400"];

/** What the README leaves to the reader: calling what it defines. */
const README_DRIVER = `
const { url, headers, body } = JSON.parse(process.env.WEBHOOK ?? "");
for (const text of [body, body + " "]) {
  console.log((await receive(new Request(url, { method: "POST", headers, body: text }))).status);
}
export { listen };
`;

Deno.test("the packed client does what its README says, in Node and in Deno", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const [service, consumer] = await Promise.all([
    startService({ settings }),
    createConsumer({
      "node.d.ts": NODE,
      "readme.ts": await readmeProgram("sdk/README.md") + README_DRIVER,
      "consumer.ts": await Deno.readTextFile(join(PROJECT, "sdk/consumer/consumer.ts")),
    }),
  ]);
  await using _service = service;
  await using _consumer = consumer;
  const webhook = await captureWebhook(service);
  const given = {
    CONSUMER: JSON.stringify({
      url: service.url,
      sandbox: service.sandbox,
      key: service.keys.user,
      webhook,
    }),
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
  await consumer.compile(["node.d.ts", "readme.ts", "consumer.ts"]);
  assert.ok(["package.json", "README.md", "LICENSE", "lib/mod.js", "lib/mod.d.ts"]
    .every((name) => consumer.packed.includes(name)));
  assert.ok(consumer.packed.every((name) => !/(?<!\.d)\.ts$/.test(name)), "sources are left out");
  await assertPublishable(consumer.path);
  await Promise.all(RUNTIMES.map(async (runtime) => {
    const outcome = JSON.parse(await consumer.run(runtime, "consumer", given));
    assert.deepEqual(
      outcome,
      { ...OUTCOME, webhooks: [`tested: ${webhook.url}`, true, true] },
      runtime,
    );
  }));
  // One after the other: each looks for its own payment on top of the list.
  for (const runtime of RUNTIMES) {
    const [first, ...rest] = (await consumer.run(runtime, "readme", given)).trim().split("\n");
    assert.match(first!, /^Show the customer http:/);
    assert.deepEqual(rest, README_SAYS, runtime);
  }
});

Deno.test("the client offers every operation, with a key where the service takes one", async () => {
  const document = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));
  const sources = await allSources();
  const operations = Object.values<Record<string, Operation>>(document.paths)
    .flatMap((path) => Object.values(path))
    .filter(({ operationId }) => operationId && !NOT_OFFERED.includes(operationId));
  assert.ok(operations.length > 30);
  for (const { operationId, parameters } of operations) {
    // The stream is read by the client's own reader; of the operation it has the address.
    if (operationId === "streamEvents") continue;
    const call = new RegExp(`\\b${operationId}\\(\\{[^;]*?\\.\\.\\.(keyed|respondAsync|plain)\\(`);
    const how = sources.match(call)?.[1];
    assert.ok(how, `${operationId} is not offered`);
    const takesKey = parameters.some(({ name }) => name === "Idempotency-Key");
    assert.equal(how !== "plain", takesKey, `${operationId} and its Idempotency-Key`);
  }
});

/** That npm is told all that it shows, and the version is the document's. */
async function assertPublishable(folder: string): Promise<void> {
  const installed = join(folder, "node_modules/payment-gateway-client/package.json");
  const about = JSON.parse(await Deno.readTextFile(installed));
  const { info } = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));
  assert.deepEqual([about.version, about.license], [info.version, info.license.identifier]);
  for (const name of ["description", "keywords", "types", "exports", "engines"]) {
    assert.ok(about[name], name);
  }
  assert.equal(about.dependencies, undefined);
}

interface Operation {
  operationId: string;
  parameters: { name?: string }[];
}

async function allSources(): Promise<string> {
  const folder = join(PROJECT, "sdk/src");
  const texts: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    texts.push(await Deno.readTextFile(join(folder, name)));
  }
  return texts.join("\n");
}

/** A webhook exactly as the service sends it, and the secret it is signed with. */
async function captureWebhook(service: Service) {
  await using receiver = openWebhookReceiver();
  const staff = async (path: string, body?: object) => {
    const headers = {
      Authorization: `Bearer ${service.keys.staff}`,
      "Content-Type": "application/json",
    };
    const init = { method: "POST", headers, body: body && JSON.stringify(body) };
    const response = await askService(`${service.url}/webhook-endpoints/${path}`, init);
    return await response.json() as { id: string; secret: string };
  };
  const { id, secret } = await staff("", { url: receiver.url });
  await staff(`${id}/test/`);
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
