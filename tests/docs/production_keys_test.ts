import { SignJWT } from "jose";
import assert from "node:assert/strict";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { openWebhookReceiver, type ReceivedWebhook } from "../support/events/webhook_receiver.ts";
import { type Json, openSandbox } from "../support/gateway/sandbox.ts";
import { blockWith, readGuide, runBlock } from "../support/guides/text.ts";
import { hasProgram } from "../support/programs.ts";
import { createDataFolder } from "../support/project.ts";
import { startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const guide = await readGuide("production.md");

const BOOTSTRAP_STAFF_KEY = "gk_" + "b".repeat(43);

/** Parses the JSON responses that the guide's commands print one after the other. */
function parseResponses(stdout: string): Json[] {
  return stdout.split(/(?<=[}\]])\n?(?=[{[])/).map((text) => JSON.parse(text));
}

function isSignedWith(secret: string, { body, headers }: ReceivedWebhook): boolean {
  try {
    new Webhook(secret).verify(new TextDecoder().decode(body), headers);
    return true;
  } catch {
    return false;
  }
}

async function post(url: string, key: string, body?: unknown): Promise<Json> {
  const response = await callService(url, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, await response.clone().text());
  return await response.json();
}

const CHARGE = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 };

Deno.test("production guide: its commands rotate an API key, and a revoked staff key stays revoked", async () => {
  const settings = {
    HOST: "127.0.0.1",
    DATABASE_URL: await createDatabase({ template: null }),
    GATEWAY_SERVER_KEY: "Mid-server-x",
    BOOTSTRAP_STAFF_KEY,
  };
  {
    await using service = await startService({ settings });
    const { stdout } = await runBlock(blockWith(guide, "sh", "keys create"), {
      ...settings,
      OLD_KEY_PREFIX: displayPrefix(BOOTSTRAP_STAFF_KEY),
    });
    const [key] = stdout.match(/gk_[\w-]{43}/)!;
    assert.match(stdout, /web shop, 2027/);
    const caller = JSON.parse((await service.get("/me/", key)).text);
    assert.deepEqual([caller.user_id, caller.is_staff], ["shop", false]);
    await until(
      "the key is rejected",
      async () => (await service.get("/me/", BOOTSTRAP_STAFF_KEY)).status === 401,
    );
  }
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", BOOTSTRAP_STAFF_KEY)).status, 401);
});

Deno.test({
  name:
    "production guide: its commands rotate webhook secrets and the server key without losing events",
  ignore: !await hasProgram("curl", "the tests of the guide's secret rotation are"),
  async fn() {
    await using receiver = openWebhookReceiver();
    await using folder = await createDataFolder();
    // Both sandboxes use this file, so the gateway account stays the same.
    const path = join(folder.path, "sandbox.sqlite");
    const base = {
      HOST: "127.0.0.1",
      DATABASE_URL: await createDatabase({ template: null }),
      BOOTSTRAP_STAFF_KEY,
      WEBHOOK_ALLOW_PRIVATE: "true",
    };
    const [disableBlock, renewBlock] = ["process_charge_async", '"enabled": true'].map((text) =>
      blockWith(guide, "sh", text)
    );
    const rotateBlock = guide.match(
      /^```sh [^\n]+\n(curl -X POST [^\n]+rotate-secret[^\n]+\n)```/m,
    )![1]!;
    const variables = { STAFF_KEY: BOOTSTRAP_STAFF_KEY, API: "", ENDPOINT: "" };
    let secret: string;

    {
      await using sandbox = await openSandbox({ path, serverKey: "Mid-server-old" });
      await using service = await startService({
        settings: { ...base, GATEWAY_SERVER_KEY: "Mid-server-old", GATEWAY_BASE_URL: sandbox.url },
      });
      variables.API = service.url;
      const created = await post(`${service.url}/webhook-endpoints/`, BOOTSTRAP_STAFF_KEY, {
        url: receiver.url,
      });
      variables.ENDPOINT = created.id;

      // During the rotation, each webhook is signed with both secrets.
      [{ secret }] = parseResponses((await runBlock(rotateBlock, variables)).stdout) as [
        { secret: string },
      ];
      await post(`${service.url}/charge/`, BOOTSTRAP_STAFF_KEY, CHARGE);
      await until("the webhook arrives", () => receiver.received.length === 1);
      for (const each of [created.secret, secret]) {
        assert.ok(isSignedWith(each, receiver.received[0]!));
      }

      const [endpoint, ...waitingJobs] = parseResponses(
        (await runBlock(disableBlock!, variables)).stdout,
      );
      assert.equal(endpoint.enabled, false);
      assert.deepEqual(waitingJobs, [[], []]);
      await post(`${service.url}/charge/`, BOOTSTRAP_STAFF_KEY, CHARGE);
    }

    await using sandbox = await openSandbox({ path, serverKey: "Mid-server-new" });
    await using service = await startService({
      settings: { ...base, GATEWAY_SERVER_KEY: "Mid-server-new", GATEWAY_BASE_URL: sandbox.url },
    });
    variables.API = service.url;
    const address = `${service.url}/webhook-endpoints/${variables.ENDPOINT}`;
    const testDelivery = await post(`${address}/test/`, BOOTSTRAP_STAFF_KEY);
    assert.deepEqual([testDelivery.succeeded, testDelivery.status_code], [false, null]);
    assert.match(testDelivery.error, /Rotate the secret/);
    const [rotated, enabled] = parseResponses((await runBlock(renewBlock!, variables)).stdout);
    assert.equal(enabled.enabled, true);
    await until("the delivery that waited arrives", () => receiver.received.length === 2);
    assert.ok(isSignedWith(rotated.secret, receiver.received[1]!));
    assert.ok(!isSignedWith(secret, receiver.received[1]!));
  },
});

Deno.test("production guide: a JWT is accepted only if it is signed with the configured secret", async () => {
  const databaseUrl = await createDatabase();
  const [oldSecret, newSecret] = ["a", "b"].map((letter) => letter.repeat(32)) as [string, string];
  const sign = (secret: string) =>
    new SignJWT({}).setProtectedHeader({ alg: "HS256" }).setSubject("ada").setIssuer("i")
      .setAudience("a").setExpirationTime("1m").sign(new TextEncoder().encode(secret));
  for (const AUTH_JWT_SECRET of [oldSecret, newSecret]) {
    const env = { ...REAL_INSTALLATION, AUTH_JWT_SECRET, AUTH_JWT_ISSUER: "i" };
    await using app = await openApp({ databaseUrl, env: { ...env, AUTH_JWT_AUDIENCE: "a" } });
    for (const secret of [oldSecret, newSecret]) {
      const { status } = await app.as(await sign(secret), "/me/");
      assert.equal(status, secret === AUTH_JWT_SECRET ? 200 : 401);
    }
  }
});
