import assert from "node:assert/strict";
import { join } from "node:path";
import { copyProject } from "../support/project.ts";
import { DOWNLOADING, startService } from "../support/service.ts";

/** These start the service as others than whoever runs the tests, which only root can do. */
const isRoot = Deno.uid() === 0;
const NOBODY = 65_534;

Deno.test({
  name: "as root in a folder closed to all others, the database finds a place, and says where",
  ignore: !isRoot,
  async fn() {
    const home = await Deno.makeTempDir({ prefix: "payment-gateway-closed home-" });
    let elsewhere: string | undefined;
    try {
      // A 0700 folder, and with a space in its name at that.
      await Deno.chmod(home, 0o700);
      const cwd = join(home, "project");
      await copyProject(cwd);
      let keys;
      {
        await using service = await startService({ cwd });
        keys = service.keys;
        elsewhere = service.output().match(/it lives in (\/var\/lib\/payment-gateway\/\w+)\n/)?.[1];
        assert.ok(elsewhere, service.output());
        assert.equal((await service.get("/me/", keys.user)).status, 200);
      }
      await using service = await startService({ cwd });
      assert.deepEqual(service.keys, keys);
      assert.equal((await service.get("/me/", keys.user)).status, 200);
    } finally {
      await Deno.remove(home, { recursive: true });
      if (elsewhere) await Deno.remove(elsewhere, { recursive: true });
    }
  },
});

Deno.test({
  name: "as an ordinary user everything lives in the data folder, with no cache to begin with",
  ignore: !isRoot,
  async fn() {
    const home = await Deno.makeTempDir({ prefix: "payment-gateway-user-" });
    try {
      const cwd = join(home, "project");
      await copyProject(cwd);
      await new Deno.Command("chown", { args: ["-R", `${NOBODY}:${NOBODY}`, home] })
        .output();
      const deno = join(home, "deno");
      await Deno.copyFile(Deno.execPath(), deno);
      await Deno.chmod(deno, 0o755);
      const settings = {
        HOME: home,
        DENO_DIR: join(home, "cache"),
        ...DOWNLOADING,
      };
      await using service = await startService({
        cwd,
        settings,
        runAs: { uid: NOBODY, gid: NOBODY },
        command: [deno, "task", "start"],
      });
      assert.equal((await service.get("/me/", service.keys.user)).status, 200);
      const { uid } = await Deno.stat(join(cwd, ".data/postgres/cluster/postmaster.pid"));
      assert.equal(uid, NOBODY);
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  },
});
