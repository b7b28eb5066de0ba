import assert from "node:assert/strict";
import { DEPLOY_STOP } from "../../commands/deploy.ts";
import { GRACE_MS } from "../../commands/serve.ts";
import { API_KEY_PATTERN } from "../../core/secrets/api_key.ts";
import { parseConfig } from "../../core/config/config.ts";
import { SETTING_NAMES } from "../../core/config/settings.ts";
import { DEFAULT_DEADLINE_MS } from "../../core/gateway/client.ts";
import { CHARGE_DEADLINE_MS } from "../../core/gateway/operations.ts";
import { MAX_FILE_BYTES } from "../../core/reports/reconciliations.ts";
import { loadMigrations, migrate } from "../../db/migrations/migrate.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import {
  readDeployed,
  secondsToStop,
  settingsOfGuide,
  UNITS,
} from "../support/guides/production.ts";
import { blockWith, readGuide, runBlock } from "../support/guides/text.ts";

const guide = await readGuide("production.md");
const security = await readGuide("security.md");

Deno.test("production guide: its proxy passes on bodies that the service rejects as too large", () => {
  const units: Record<string, number> = { k: 1024, m: 1024 ** 2 };
  const [forJson, forReports] = [...guide.matchAll(/client_max_body_size (\d+)([km]);/g)]
    .map(([, count, unit]) => Number(count) * units[unit!]!);
  assert.ok(forJson! > 256 * 1024, "more than the service accepts");
  assert.ok(forReports! > MAX_FILE_BYTES);
});

Deno.test("production guide: its stop timeouts are long enough for the longest request", async () => {
  assert.ok(GRACE_MS > CHARGE_DEADLINE_MS);
  assert.ok(GRACE_MS > DEFAULT_DEADLINE_MS + CHARGE_DEADLINE_MS);
  const texts = [
    ...guide.matchAll(/--stop-timeout (\d+)/g),
    ...guide.matchAll(/terminationGracePeriodSeconds: (\d+)/g),
    ...guide.matchAll(/The unit allows (\d+) seconds/g),
  ];
  assert.equal(texts.length, 3);
  const needed = await secondsToStop();
  for (const [text, seconds] of texts) assert.ok(Number(seconds) >= needed, text);
  assert.match(guide, new RegExp(`requests up to ${GRACE_MS / 1_000} seconds to finish`));
  assert.match(guide, /When Deno Deploy stops an instance,[^.]*killed\s+after\s+5\s+seconds/);
  const { graceMs } = DEPLOY_STOP;
  assert.match(guide, new RegExp(`running requests and jobs ${graceMs / 1_000} seconds`));
});

Deno.test("systemd template: is the unit with a port and a user that all instances share", async () => {
  const [unit, template] = await Promise.all(
    Object.keys(UNITS).map(async (name) =>
      (await readDeployed(name)).split("\n").filter((line) => line !== "" && !line.startsWith("#"))
    ),
  );
  assert.deepEqual(template!.filter((line) => !unit!.includes(line)), [
    "Description=Payment gateway integration service on port %i",
    "Environment=PORT=%i",
    "User=payment-gateway",
  ]);
  assert.deepEqual(unit!.filter((line) => !template!.includes(line)), [
    "Description=Payment gateway integration service",
  ]);
  assert.ok(!Object.keys(await settingsOfGuide()).includes("PORT"), "it would replace the port");
});

Deno.test("nginx for instances: has the ports of the guide, gives up connections before an instance has drained, and logs no path of a payment page", async () => {
  const text = await readDeployed("nginx-instances.conf");
  const { drainSeconds } = parseConfig(await settingsOfGuide(), "/");
  const upstreams = [...text.matchAll(/^upstream (\w+) \{\n(.*?)^\}$/gms)];
  assert.deepEqual(upstreams.map(([, name]) => name), [
    "payment_gateway",
    "payment_gateway_streams",
  ]);
  const started = [...guide.matchAll(/payment-gateway@(\d+)/g)].map(([, port]) => port!);
  for (const [, name, content] of upstreams) {
    const ports = [...content!.matchAll(/server 127\.0\.0\.1:(\d+) /g)].map(([, port]) => port!);
    assert.deepEqual(ports, started, name);
    const times = [...content!.matchAll(/(?:fail|keepalive)_timeout[ =](\d+)s/g)];
    assert.ok(times.length >= ports.length);
    for (const [time, seconds] of times) assert.ok(Number(seconds) < drainSeconds, time);
  }
  assert.ok(guide.includes(`for PORT in ${started.join(" ")}; do`));
  const pages = text.match(/^ {4}location \/pay\/ \{\n(.*?)^ {4}\}$/ms)![1]!;
  assert.equal(pages.match(/access_log off;/g)?.length, 2);
  assert.equal(pages.match(/error_log \S+ crit;/g)?.length, 2);
  // A request without a key must not be repeated.
  assert.match(text, /location @with_key \{[^}]*non_idempotent;/);
  assert.equal(text.match(/proxy_next_upstream [^;]*non_idempotent/g)?.length, 1);
});

Deno.test("production guide: its command creates a valid staff key", async () => {
  const { stdout } = await runBlock(blockWith(guide, "sh", "/dev/urandom"), {});
  assert.match(stdout.trimEnd(), API_KEY_PATTERN);
});

Deno.test("security guide: shows the actual permissions of the service", async () => {
  const settings = { DATABASE_URL: "postgres://h/d", GATEWAY_SERVER_KEY: "Mid-server-x" };
  const { stdout } = await runBlock(blockWith(security, "sh", "prepare"), settings);
  const shown = blockWith(security, "text", "--allow-net").trim();
  assert.equal(stdout.trim().replace(/(--allow-env=)\S+/, "$1…"), shown);
});

Deno.test("production guide: an older version serves a database with newer migrations", async () => {
  const databaseUrl = await createDatabase();
  const olderMigrations = (await loadMigrations()).slice(0, -1);
  assert.deepEqual(await migrate(databaseUrl, olderMigrations), []);
  await using app = await openApp({ databaseUrl, migrations: olderMigrations });
  assert.equal((await app.request("/health/ready/")).status, 200);
});

/** Variables that Deno itself reads. */
const DENO_VARIABLES = ["DENO_CERT"];

Deno.test("production guide: names the variables of Deno that errors name", () => {
  for (const name of DENO_VARIABLES) assert.ok(guide.includes(`\`${name}=`), name);
});

Deno.test("guides: name only settings that exist", () => {
  const known: string[] = [...SETTING_NAMES, ...DENO_VARIABLES];
  for (const text of [guide, security]) {
    const named = [...text.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g)].map(([, each]) => each!);
    const unknown = named.filter((each) => !known.includes(each));
    assert.deepEqual(unknown, []);
  }
});
