import assert from "node:assert/strict";
import { join } from "node:path";
import { type RecordingFile, replay } from "../../commands/verify/recordings.ts";
import { PROJECT } from "../support/project.ts";

const FOLDER = join(PROJECT, "tests/gateway/recordings");

for await (const { name } of Deno.readDir(FOLDER)) {
  Deno.test(`recordings: the client reads every response in ${name} as it was read when it was recorded`, async () => {
    const file: RecordingFile = JSON.parse(await Deno.readTextFile(join(FOLDER, name)));
    assert.equal(file.format, 1);
    assert.ok(file.recordings.length > 0);
    for (const recording of file.recordings) {
      assert.deepEqual(await replay(recording), recording.reading, recording.step);
    }
  });
}
