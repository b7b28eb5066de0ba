import assert from "node:assert/strict";
import { join } from "node:path";
import { SETTING_NAMES } from "../../core/config/settings.ts";
import { createDatabase } from "../support/database/database.ts";
import { createDataFolder, PROJECT } from "../support/project.ts";
import { environment, preparedFolder } from "../support/service.ts";

/** The flags that `deno task start` would run the service with. */
async function flagsFor(settings: Record<string, string>): Promise<string[]> {
  const { stdout, code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-P=prepare", "main.ts", "prepare"],
    env: environment(settings),
    clearEnv: true,
    cwd: PROJECT,
    stderr: "null",
  }).output();
  assert.equal(code, 0);
  return new TextDecoder().decode(stdout).trim().split(" ");
}

/**
 * Runs a script with these flags, and returns which of its attempts were permitted. The server
 * script (`db/embedded/run_server.sh`) must run the database server and no other program.
 */
async function probe(flags: string[], paths: Record<string, string>) {
  const script = join(paths.scratch!, "probe.ts");
  await Deno.writeTextFile(
    script,
    `
    const attempts = {
      writeTemp: () => Deno.writeTextFileSync("/tmp/payment-gateway-probe", ""),
      writeProject: () => Deno.writeTextFileSync(${JSON.stringify(PROJECT + "/probe")}, ""),
      writeData: () => Deno.writeTextFileSync(${JSON.stringify(paths.data + "/probe")}, ""),
      renamePostgresFolder: () => Deno.renameSync(${
      JSON.stringify(paths.data + "/postgres")
    }, "/tmp/moved"),
      writeKeys: () => Deno.writeTextFileSync(${
      JSON.stringify(paths.data + "/development_keys.json")
    }, "{}"),
      writeQueue: () => Deno.writeTextFileSync(${JSON.stringify(paths.data + "/jobs.kv")}, ""),
      runProgramByServerScript: () => {
        const { stdout } = new Deno.Command(${
      JSON.stringify(paths.data + "/postgres/run_server")
    }, {
          args: ["/tmp/log", "/bin/echo", "ran"],
        }).outputSync();
        if (!new TextDecoder().decode(stdout).includes("ran")) throw new Error("did not run it");
      },
      writeServerScript: () => Deno.writeTextFileSync(${
      JSON.stringify(paths.data + "/postgres/run_server")
    }, ""),
      runShell: () => new Deno.Command("sh", { args: ["-c", "true"] }).outputSync(),
      runTrue: () => new Deno.Command("/bin/true").outputSync(),
      readLogo: () => Deno.readTextFileSync(${JSON.stringify(paths.scratch + "/logo.svg")}),
      readPasswd: () => Deno.readTextFileSync("/etc/passwd"),
      readHomeVariable: () => Deno.env.get("HOME") ?? (() => { throw new Error("absent") })(),
      readPortVariable: () => Deno.env.get("PORT"),
      loadLibrary: () => Deno.dlopen("libc.so.6", {}),
    };
    const outcome = {};
    for (const [name, attempt] of Object.entries(attempts)) {
      try { attempt(); outcome[name] = true; } catch { outcome[name] = false; }
    }
    console.log(JSON.stringify(outcome));`,
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", ...flags, script],
    env: { PORT: "1" },
    cwd: PROJECT,
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Settings can be read from the environment; nothing else is permitted. */
const ONLY_SETTINGS = {
  writeTemp: false,
  writeProject: false,
  writeData: false,
  renamePostgresFolder: false,
  writeKeys: false,
  writeQueue: false,
  runProgramByServerScript: false,
  writeServerScript: false,
  runShell: false,
  runTrue: false,
  readLogo: false,
  readPasswd: false,
  readHomeVariable: false,
  readPortVariable: true,
  loadLibrary: false,
};

Deno.test("permissions: with DATABASE_URL the service cannot write files or start programs", async () => {
  await using folder = await createDataFolder();
  const flags = await flagsFor({
    DATABASE_URL: await createDatabase(),
    GATEWAY_SERVER_KEY: "Mid-server-x",
    DATA_DIR: join(folder.path, "new"),
  });
  assert.deepEqual(await Array.fromAsync(Deno.readDir(folder.path)), []);
  assert.deepEqual(flags, [
    "--allow-net",
    `--allow-env=${SETTING_NAMES.join(",")}`,
    "--ignore-env",
    "--allow-sys=homedir",
    "--allow-read=db/migrations,.git/HEAD,.git/refs,.git/packed-refs",
    "--ignore-read",
  ]);
  assert.deepEqual(await probe(flags, { scratch: folder.path, data: folder.path }), ONLY_SETTINGS);
});

Deno.test("permissions: with MERCHANT_LOGO the service can read that file, even through a link", async () => {
  await using folder = await createDataFolder();
  await using target = await createDataFolder();
  await Deno.writeTextFile(join(target.path, "v1.svg"), "<svg/>");
  const MERCHANT_LOGO = join(folder.path, "logo.svg");
  await Deno.symlink(join(target.path, "v1.svg"), MERCHANT_LOGO);
  const DATABASE_URL = await createDatabase();
  const flags = await flagsFor({ DATABASE_URL, GATEWAY_SERVER_KEY: "Mid-server-x", MERCHANT_LOGO });
  assert.deepEqual(await probe(flags, { scratch: folder.path, data: folder.path }), {
    ...ONLY_SETTINGS,
    readLogo: true,
  });
});

Deno.test("permissions: with DATABASE_URL and QUEUE=kv the service can write only its queue", async () => {
  await using folder = await createDataFolder();
  const flags = await flagsFor({
    DATABASE_URL: await createDatabase(),
    GATEWAY_SERVER_KEY: "Mid-server-x",
    QUEUE: "kv",
    DATA_DIR: folder.path,
  });
  assert.ok(!flags.some((flag) => /--allow-(sys|run)/.test(flag)));
  assert.deepEqual(await probe(flags, { scratch: folder.path, data: folder.path }), {
    ...ONLY_SETTINGS,
    writeQueue: true,
  });
});

Deno.test("permissions: with the embedded database the service can write only its own files and run only the database server", async () => {
  await using folder = await preparedFolder();
  const flags = await flagsFor({ DATA_DIR: folder.path });
  assert.ok(!flags.includes("-A") && !flags.includes("--allow-all"));
  assert.deepEqual(await probe(flags, { scratch: folder.path, data: folder.path }), {
    ...ONLY_SETTINGS,
    writeKeys: true,
    writeQueue: true,
  });
});

Deno.test("permissions: no task runs with all permissions", async () => {
  const { tasks, permissions } = JSON.parse(await Deno.readTextFile(join(PROJECT, "deno.json")));
  for (const [name, task] of Object.entries<string>(tasks)) {
    assert.doesNotMatch(task, /(^|\s)(-A|--allow-all)\b/, name);
  }
  for (const set of Object.values<object>(permissions)) assert.ok(!("all" in set));
  assert.deepEqual(permissions.prepare.env, SETTING_NAMES);
  assert.ok(!("net" in permissions.prepare));
});
