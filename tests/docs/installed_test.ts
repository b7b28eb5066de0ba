/** The container image and the systemd unit, started. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { NOBODY_USER } from "../../db/embedded/platform.ts";
import {
  buildImage,
  type Image,
  imageEnvironment,
  includedPaths,
} from "../support/guides/containerfile.ts";
import {
  readDeployed,
  readUnit,
  secondsToStop,
  settingsOfGuide,
  UNITS,
} from "../support/guides/production.ts";
import { hasProgram } from "../support/programs.ts";
import { copyProject, createDataFolder } from "../support/project.ts";
import { type StartOptions, startService, untilReady } from "../support/service.ts";

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
  await untilReady(service);
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
  await untilReady(service);
  service.signal("SIGTERM");
  assert.equal((await service.ended).code, 0, service.output());
  // systemd must wait longer than the service needs to stop.
  const stopTimeoutSeconds = Number(unit.get("TimeoutStopSec")![0]);
  assert.ok(stopTimeoutSeconds >= await secondsToStop());
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
