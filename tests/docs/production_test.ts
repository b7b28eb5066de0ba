import assert from "node:assert/strict";
import { join } from "node:path";
import { DEPLOY_STOP } from "../../commands/deploy.ts";
import { GRACE_MS } from "../../commands/serve.ts";
import { API_KEY_PATTERN } from "../../core/secrets/api_key.ts";
import { parseConfig } from "../../core/config/config.ts";
import { SETTING_NAMES } from "../../core/config/settings.ts";
import { DEFAULT_DEADLINE_MS } from "../../core/gateway/client.ts";
import { CHARGE_DEADLINE_MS } from "../../core/gateway/operations.ts";
import { MAX_FILE_BYTES } from "../../core/reports/reconciliations.ts";
import { NOBODY_USER } from "../../db/embedded/platform.ts";
import { loadMigrations, migrate } from "../../db/migrations/migrate.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import {
  buildImage,
  type Image,
  imageEnvironment,
  includedPaths,
} from "../support/guides/containerfile.ts";
import { blockWith, readGuide, runBlock } from "../support/guides/text.ts";
import { hasProgram } from "../support/programs.ts";
import { copyProject, createDataFolder, PROJECT } from "../support/project.ts";
import { type StartOptions, startService } from "../support/service.ts";

const guide = await readGuide("production.md");
const security = await readGuide("security.md");

const isRoot = Deno.uid() === 0;
const STAFF_KEY = "gk_" + "d".repeat(43);

/** Makes downloads fail: only this machine can be reached. */
const NO_NETWORK = {
  HTTP_PROXY: "http://127.0.0.1:2",
  HTTPS_PROXY: "http://127.0.0.1:2",
  NO_PROXY: "127.0.0.1",
};

/**
 * If the tests run as root, the service runs as a user who can only read the files of the image.
 */
const asOrdinaryUser: Pick<StartOptions, "runAs"> = isRoot ? { runAs: NOBODY_USER } : {};

let image: Image;

Deno.test.beforeAll(async () => {
  const root = await Deno.makeTempDir({ prefix: "payment-gateway-image-" });
  await Deno.chmod(root, 0o755);
  image = await buildImage(root);
});

Deno.test.afterAll(() => Deno.remove(image.root, { recursive: true }));

/** The guide's settings file with a database and secrets filled in. */
async function settingsOfGuide(): Promise<Record<string, string>> {
  const lines = blockWith(guide, "ini", "DATABASE_URL").trim().split("\n");
  const settings = Object.fromEntries(lines.map((line) => {
    const [, name, value] = line.match(/^(\w+)="?(.*?)"?$/)!;
    return [name!, value!.replace("…", "d".repeat(43))];
  }));
  assert.ok(parseConfig(settings, "/nowhere").databaseUrl);
  return { ...settings, DATABASE_URL: await createDatabase({ template: null }) };
}

function readDeployed(name: string): Promise<string> {
  return Deno.readTextFile(join(PROJECT, "deploy", name));
}

/** The values of the systemd unit, by name. */
async function readUnit(): Promise<Map<string, string[]>> {
  const text = await readDeployed("payment-gateway.service");
  const lines = [...text.matchAll(/^(\w+)=(.*)$/gm)];
  return new Map(
    Object.entries(Object.groupBy(lines, ([, name]) => name!))
      .map(([name, values]) => [name, values!.map(([, , value]) => value!)]),
  );
}

Deno.test("container image: the service runs with only the copied files, as an ordinary user, without writable files or network", async () => {
  const included = await includedPaths();
  for (const name of image.copied) assert.ok(included.includes(name.replace(/\/$/, "")), name);
  const settings = {
    ...imageEnvironment(image),
    ...NO_NETWORK,
    ...await settingsOfGuide(),
    HOME: "/nonexistent",
  };
  const options = { cwd: image.workdir, settings, ...asOrdinaryUser };
  await using service = await startService({ ...options, command: image.command });
  assert.equal((await service.get("/health/ready/")).status, 200);
  assert.equal((await service.get("/me/", STAFF_KEY)).status, 200);
  // The service loads this file only when it is requested.
  assert.equal((await service.get("/reference/scalar.js")).status, 200);

  const [program, ...args] = [...image.command, "keys", "list"];
  const { code, stdout, stderr } = await new Deno.Command(program!, {
    args,
    env: settings,
    clearEnv: true,
    cwd: image.workdir,
    ...options.runAs,
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  assert.match(new TextDecoder().decode(stdout), /gk_dddddddd +bootstrap/);

  service.signal("SIGTERM");
  assert.equal((await service.ended).code, 0, service.output());
});

Deno.test("container image: exits with the code of `prepare` if that fails", async () => {
  await using folder = await createDataFolder();
  // A `deno` that always fails.
  const deno = join(folder.path, "deno");
  await Deno.writeTextFile(deno, '#!/bin/sh\necho "$@"\necho "$@" >&2\nexit 3\n');
  await Deno.chmod(deno, 0o755);
  const [program, ...args] = image.command;
  const { code, stdout, stderr } = await new Deno.Command(program!, {
    args,
    env: { PATH: `${folder.path}:/usr/bin:/bin` },
    clearEnv: true,
    cwd: image.workdir,
  }).output();
  assert.equal(code, 3);
  assert.equal(new TextDecoder().decode(stdout), "");
  assert.match(new TextDecoder().decode(stderr), /^run .* main\.ts prepare\n$/);
});

Deno.test("systemd unit: its command starts the service as an ordinary user who can write only the cache", async () => {
  const unit = await readUnit();
  const inside = (path: string) => join(image.root, path);
  const cwd = inside(unit.get("WorkingDirectory")![0]!);
  await copyProject(cwd);
  const environment = Object.fromEntries(unit.get("Environment")!.map((line) => line.split("=")));
  assert.deepEqual(environment.DENO_DIR, `/var/cache/${unit.get("CacheDirectory")![0]}`);
  const cache = inside(environment.DENO_DIR);
  // Fills the cache, as an earlier start would.
  await Deno.mkdir(join(cache, ".."), { recursive: true });
  await new Deno.Command("cp", { args: ["-r", inside("deno-dir"), cache] }).output();
  if (isRoot) {
    const args = ["-R", `${NOBODY_USER.uid}:${NOBODY_USER.gid}`, cache];
    await new Deno.Command("chown", { args }).output();
  }
  const [program, ...args] = unit.get("ExecStart")![0]!.split(" ");
  assert.equal(program, "/usr/local/bin/deno");
  await using service = await startService({
    cwd,
    command: [inside("bin/deno"), ...args],
    settings: {
      ...await settingsOfGuide(),
      ...NO_NETWORK,
      ...environment,
      DENO_DIR: cache,
      HOME: "/nonexistent",
    },
    ...asOrdinaryUser,
  });
  assert.equal(new URL(service.url).hostname, "127.0.0.1");
  assert.equal((await service.get("/health/ready/")).status, 200);
  service.signal("SIGTERM");
  assert.equal((await service.ended).code, 0, service.output());
  // systemd must wait longer than the service needs to stop.
  const stopTimeoutSeconds = Number(unit.get("TimeoutStopSec")![0]);
  assert.ok(stopTimeoutSeconds >= await secondsToStop());
});

/** The time for draining, for running requests, and for closing the connections. */
async function secondsToStop(): Promise<number> {
  const { drainSeconds } = parseConfig(await settingsOfGuide(), "/");
  return drainSeconds + GRACE_MS / 1_000 + 10;
}

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

Deno.test({
  name: "systemd unit: systemd accepts it and rates its exposure as low",
  ignore: !await hasProgram("systemd-analyze", "the test of the systemd unit is"),
  async fn() {
    for (const [unit, name] of Object.entries(UNITS)) {
      const text = await readDeployed(unit);
      const path = join(image.root, name);
      await Deno.writeTextFile(path, text.replace("/usr/local/bin/deno", Deno.execPath()));
      for (
        const args of [["verify", path], ["security", "--offline=true", "--threshold=20", path]]
      ) {
        const { code, stdout, stderr } = await new Deno.Command("systemd-analyze", { args })
          .output();
        const output = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
        assert.equal(code, 0, output);
      }
    }
  },
});

/** The units, and the names under which systemd starts them. */
const UNITS = {
  "payment-gateway.service": "payment-gateway.service",
  "payment-gateway@.service": "payment-gateway@8001.service",
};

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
