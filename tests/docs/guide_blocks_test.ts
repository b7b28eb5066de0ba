import assert from "node:assert/strict";
import { join } from "node:path";
import { blocksOf } from "../support/guides/blocks.ts";
import { guideNames, GUIDES, readGuide, showsStatus } from "../support/guides/guides.ts";
import { assertShown } from "../support/guides/output.ts";

const fenced = (info: string) => `Words.\n\n\`\`\`${info}\ntext\n\`\`\`\n`;

Deno.test("guide blocks: the fence decides whether a block is run, written to a file, compared or shown", () => {
  const kinds = (info: string) => blocksOf(fenced(info)).map(({ kind, line }) => `${kind} ${line}`);
  assert.deepEqual(kinds("sh"), ["run 3"]);
  assert.deepEqual(kinds("sh another-terminal"), ["run 3"]);
  assert.deepEqual(kinds("js receiver.mjs"), ["file 3"]);
  assert.deepEqual(kinds("sh not-run it would take a year"), ["not-run 3"]);
  assert.deepEqual(kinds("python not-run a test of its own runs it"), ["not-run 3"]);
  assert.deepEqual(kinds("ini"), ["shown 3"]);
  assert.deepEqual(kinds("nginx"), ["shown 3"]);
  const both = blocksOf(fenced("sh") + fenced("json output")).map(({ kind }) => kind);
  assert.deepEqual(both, ["run", "output"]);
});

Deno.test("guide blocks: an output without a command before it is an error", () => {
  assert.throws(
    () => blocksOf(fenced("json output")),
    /line 3: the output has no command before it/,
  );
  assert.throws(
    () => blocksOf(fenced("js a.mjs") + fenced("text output")),
    /line 8: the output has/,
  );
});

Deno.test("guide blocks: a block of code that is not run needs a reason", () => {
  const shell = ["sh not-run", "bash", "sh later", "zsh"];
  const otherLanguages = ["ts", "json", "text", "", "python", "html", "ini later"];
  for (const info of [...shell, ...otherLanguages]) {
    assert.throws(() => blocksOf(fenced(info)), /line 3: the block is neither run nor/, info);
  }
});

Deno.test("guide output: JSON must have all shown members, and may have more", () => {
  const printed = '{"id":"01a1","list":[{"a":1},{"b":2}],"none":null,"paid":false}';
  const isShown = (shown: string) => {
    try {
      assertShown("json", shown, printed);
      return true;
    } catch {
      return false;
    }
  };
  assert.ok(isShown('{ "id": "01…", "paid": false }'));
  assert.ok(isShown('{ "list": [{ "a": 1 }, "…"] }'));
  assert.ok(isShown('{ "list": [{}, { "b": 2 }], "none": null }'));
  assert.ok(!isShown('{ "id": "02…" }'));
  assert.ok(!isShown('{ "paid": true }'));
  assert.ok(!isShown('{ "missing": "…" }'));
  assert.ok(!isShown('{ "none": "…" }'));
  assert.ok(!isShown('{ "list": [{ "a": 1 }] }'));
  assert.ok(!isShown('{ "list": [{ "a": 2 }, "…"] }'));
});

Deno.test("guide output: text must have all lines; … matches the rest of a line or any number of lines", () => {
  const printed = "HTTP/1.1 200 OK\r\nlocation: /jobs/1/\r\n\r\ndone \n";
  assertShown("text", "HTTP/1.1 200 OK\nlocation: /jobs/…/\n\ndone", printed);
  assertShown("text", "HTTP/1.1 200 OK\n…\ndone\n…", printed);
  assert.throws(() => assertShown("text", "HTTP/1.1 200 OK\ndone", printed));
  assert.throws(() => assertShown("text", "HTTP/1.1 200 OK\n…\ndon", printed));
  assert.throws(() => assertShown("text", "HTTP/1.1 404\n…", printed));
});

Deno.test("guide output: an amount that contains the digits of a status does not count as that status", () => {
  for (const shown of ['{ "status": 400 }', "HTTP/1.1 400 Bad Request", "It was 400."]) {
    assert.ok(showsStatus(shown, "400"), shown);
  }
  for (const shown of ['"44000.00"', '"400.00"', "1.400", "4000", "1400", "error_400", "400a"]) {
    assert.ok(!showsStatus(shown, "400"), shown);
  }
});

Deno.test("production guide: the sample for nginx logs no path of a payment page, which is a secret", async () => {
  const guide = await Deno.readTextFile(join(GUIDES, "production.md"));
  const [, sample] = guide.match(/^```nginx\n(.*?)^```$/ms)!;
  const [, pages] = sample!.match(/^ {4}location \/pay\/ \{\n(.*?)^ {4}\}$/ms)!;
  assert.match(pages!, /^ +access_log off;$/m);
  // A message of the level "error" contains the path of the request.
  assert.match(pages!, /^ +error_log \S+ crit;$/m);
});

/** How many blocks of a guide may be skipped. A guide that is not listed may skip none. */
const NOT_RUN: Record<string, number> = {
  "README.md": 1,
  // The gateway's script runs in a browser.
  "cards.md": 1,
  // tests/db/failover_test.ts and tests/support/database/pair.ts run the commands that need neither
  // packages nor systemd.
  "failover.md": 13,
  // Creates keys for colleagues.
  "console.md": 1,
  // tests/docs/moving_over_test.ts runs the Python code.
  "moving-from-django-payment-midtrans.md": 2,
  // Other tests in this folder run the blocks that need root, systemd or their own database.
  // tests/commands/account_test.ts runs the change of the account, tests/doctor/ the doctor.
  "production.md": 15,
  // tests/proofs/ runs the commands with fewer kills and requests.
  "proofs.md": 3,
  // tests/docs/restoring_test.ts runs those that need neither root, systemd nor Patroni.
  "restoring.md": 15,
  "how-it-works.md": 1,
  // tests/sandbox/card_script_test.ts and snap_script_test.ts run pages with the scripts,
  // tests/docs/containers_test.ts the steps of the image.
  "sandbox.md": 4,
  "security.md": 2,
};

Deno.test("guides: each skips at most the listed number of blocks", async () => {
  for (const guide of await guideNames()) {
    const notRun = (await readGuide(guide)).filter(({ block }) => block.kind === "not-run");
    assert.ok(notRun.length <= (NOT_RUN[guide] ?? 0), `docs/${guide}: ${notRun.length} blocks`);
  }
});
