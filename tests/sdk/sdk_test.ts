import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../support/project.ts";
import { NOT_IN_SDK } from "../support/sdk.ts";

Deno.test("SDK: has every operation that clients need, with an idempotency key where the service accepts one", async () => {
  const document = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));
  const sources = await allSources();
  const operations = Object.values<Record<string, Operation>>(document.paths)
    .flatMap((path) => Object.values(path))
    .filter(({ operationId }) => operationId && !NOT_IN_SDK.includes(operationId));
  assert.ok(operations.length > 30);
  for (const { operationId, parameters } of operations) {
    // The client reads the stream itself and only uses the URL of the operation.
    if (operationId === "streamEvents") continue;
    const helpers = "withIdempotencyKey|withRespondAsync|toRequestOptions";
    const call = new RegExp(`\\b${operationId}\\(\\{[^;]*?\\.\\.\\.(${helpers})\\(`);
    const helper = sources.match(call)?.[1];
    assert.ok(helper, `${operationId} is missing`);
    const acceptsKey = parameters.some(({ name }) => name === "Idempotency-Key");
    assert.equal(
      helper !== "toRequestOptions",
      acceptsKey,
      `${operationId}: must accept an Idempotency-Key if and only if the document does`,
    );
  }
});

Deno.test("SDK: the README has no command that installs an unpublished package", async () => {
  const readme = await Deno.readTextFile(join(PROJECT, "sdk/README.md"));
  const commands = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands!);
  assert.deepEqual(commands.filter((each) => /npm (install|i) payment-gateway/.test(each)), []);
  assert.match(commands.join(), /^npm install \S+\/sdk\/dist\/client$/m);
});

Deno.test("SDK: the README names every call, and every operation that has none", async () => {
  const readme = await Deno.readTextFile(join(PROJECT, "sdk/README.md"));
  const program = await Deno.readTextFile(join(PROJECT, "sdk/consumer/every_operation.ts"));
  const calls = [...program.matchAll(/\bgateway\.(\w+)\.(\w+)\(/g)];
  assert.ok(calls.length > 50);
  const rows = readme.split("\n").filter((line) => line.startsWith("|"));
  for (const [, resource, name] of calls) {
    const row = rows.find((each) => each.startsWith(`| \`${resource}\` `));
    assert.ok(row?.includes(`\`${name}\``), `${resource}.${name} is missing in the table`);
  }
  for (const operationId of NOT_IN_SDK) {
    assert.ok(readme.includes(`\`${operationId}\``), `${operationId} must be explained`);
  }
});

Deno.test("SDK: each payment type has the instruction fields that the document names", async () => {
  const source = await Deno.readTextFile(join(PROJECT, "sdk/src/payment_types.ts"));
  const [, table] = source.match(/interface Instructions \{(.*?)\n\}/s)!;
  const inSdk = [...table!.matchAll(/(\w+): ([^;]*);/g)].flatMap(([, type, fields]) =>
    [...fields!.matchAll(/"(\w+)"/g)].map(([, field]) => `${type}: ${field}`)
  );
  const document = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));
  const properties = document.components.schemas.Payment.properties;
  // These two describe the payment; the customer does not need them to pay.
  const fields = Object.keys(properties).filter((name) => !["bank", "acquirer"].includes(name));
  const inDocument = fields.flatMap((field) => {
    const [types] = String(properties[field].description).match(/^`\w+`[^:]*:/) ?? [""];
    return [...types.matchAll(/`(\w+)`/g)].map(([, type]) => `${type}: ${field}`);
  });
  assert.ok(inSdk.length > 10);
  assert.deepEqual(inSdk.sort(), inDocument.sort());
});

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

/** A webhook as the service sends it, with the secret that signs it. */
