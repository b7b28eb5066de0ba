import assert from "node:assert/strict";
import { join } from "node:path";
import { copyProject } from "../support/project.ts";
import { DOWNLOAD_ENV, START_TASK, startService } from "../support/service.ts";

/** Only root can start the service as another user. */
const isRoot = Deno.uid() === 0;
const NOBODY_USER = 65_534;

Deno.test({
  name:
    "start as root: in a folder that other users cannot enter, creates the database elsewhere and prints its path",
  ignore: !isRoot,
  async fn() {
    const home = await Deno.makeTempDir({ prefix: "payment-gateway-closed home-" });
    let databaseFolder: string | undefined;
    try {
      // Only the owner can enter this folder, and its name contains a space.
      await Deno.chmod(home, 0o700);
      const cwd = join(home, "project");
      await copyProject(cwd);
      let keys;
      {
        await using service = await startService({ cwd, command: START_TASK });
        keys = service.keys;
        databaseFolder = service.output().match(/: using (\/var\/lib\/payment-gateway\/\w+)/)?.[1];
        assert.ok(databaseFolder, service.output());
        assert.equal((await service.get("/me/", keys.user)).status, 200);
      }
      await using service = await startService({ cwd, command: START_TASK });
      assert.deepEqual(service.keys, keys);
      assert.equal((await service.get("/me/", keys.user)).status, 200);
    } finally {
      await Deno.remove(home, { recursive: true });
      if (databaseFolder) await Deno.remove(databaseFolder, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "start as an ordinary user: works without a Deno cache, and the database belongs to that user",
  ignore: !isRoot,
  async fn() {
    const home = await Deno.makeTempDir({ prefix: "payment-gateway-user-" });
    try {
      const cwd = join(home, "project");
      await copyProject(cwd);
      await new Deno.Command("chown", { args: ["-R", `${NOBODY_USER}:${NOBODY_USER}`, home] })
        .output();
      const deno = join(home, "deno");
      await Deno.copyFile(Deno.execPath(), deno);
      await Deno.chmod(deno, 0o755);
      const settings = {
        HOME: home,
        DENO_DIR: join(home, "cache"),
        ...DOWNLOAD_ENV,
      };
      await using service = await startService({
        cwd,
        settings,
        runAs: { uid: NOBODY_USER, gid: NOBODY_USER },
        command: [deno, "task", "start"],
      });
      assert.equal((await service.get("/me/", service.keys.user)).status, 200);
      const { uid } = await Deno.stat(join(cwd, ".data/postgres/cluster/postmaster.pid"));
      assert.equal(uid, NOBODY_USER);
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  },
});
