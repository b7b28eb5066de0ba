import assert from "node:assert/strict";
import { join } from "node:path";
import { createDataFolder, PROJECT } from "../support/project.ts";
import { environment } from "../support/service.ts";

Deno.test("release-document task: stores the document of a version, and rejects a change without a new version", async () => {
  await using folder = await createDataFolder();
  const inside = (path: string) => join(folder.path, path);
  await Deno.mkdir(inside("openapi/released"), { recursive: true });
  for (const name of ["deno.json", "deno.lock", "openapi/released/release.ts"]) {
    await Deno.copyFile(join(PROJECT, name), inside(name));
  }
  const release = async (version: string, title: string) => {
    const document = JSON.stringify({ info: { version, title } });
    await Deno.writeTextFile(inside("openapi/openapi.json"), document);
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "-q", "release-document"],
      cwd: folder.path,
      env: environment({}),
      clearEnv: true,
      stdin: "null",
    }).output();
    return { code, errorOutput: new TextDecoder().decode(stderr) };
  };
  const titleOf = async (version: string) =>
    JSON.parse(await Deno.readTextFile(inside(`openapi/released/${version}.json`))).info.title;

  assert.deepEqual(await release("1.0.0", "first"), { code: 0, errorOutput: "" });
  assert.equal(await titleOf("1.0.0"), "first");
  assert.equal((await release("1.0.0", "first")).code, 0);

  const { code, errorOutput } = await release("1.0.0", "changed");
  assert.equal(code, 1);
  assert.match(
    errorOutput,
    /Version 1\.0\.0 is already released with a different document\. Raise the version/,
  );
  assert.equal(await titleOf("1.0.0"), "first");

  assert.equal((await release("1.1.0", "changed")).code, 0);
  assert.deepEqual([await titleOf("1.0.0"), await titleOf("1.1.0")], ["first", "changed"]);
});
