import assert from "node:assert/strict";
import { join } from "node:path";
import { SETTING_NAMES } from "../../core/config/settings.ts";
import { SCHEDULE } from "../../core/tasks/schedule.ts";
import { newSecret, signatureHeaders } from "../../core/webhooks/signature.ts";
import { blockWith, readGuide } from "../support/guides/text.ts";
import { hasProgram } from "../support/programs.ts";
import { createDataFolder, PROJECT } from "../support/project.ts";

const guide = await readGuide("moving-from-django-payment-midtrans.md");
const document = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));

const hasPython = await hasProgram(
  "python3",
  "the tests of the guide's Python (3.9 or newer) are",
  ["-c", "import sys; assert sys.version_info >= (3, 9)"],
);

/** The second column of the table under a heading. */
function readSecondColumn(heading: string): string {
  const section = guide.split(/^## /m).find((text) => text.startsWith(heading))!;
  return [...section.matchAll(/^\|[^|]+\|([^|]+)\|/gm)].map(([, cell]) => cell!).join("\n");
}

Deno.test("moving guide: every new setting that it names exists", () => {
  const named = [...readSecondColumn("Settings").matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name]) =>
    name
  );
  assert.ok(named.length >= 6);
  for (const name of named) assert.ok((SETTING_NAMES as string[]).includes(name!), name);
});

Deno.test("moving guide: names only paths that exist, and every path that the old package also has", () => {
  const named = new Set(
    [...guide.matchAll(/`(GET|POST) (\/[\w/{}-]+\/)`/g)].map(([, method, path]) =>
      `${method!.toLowerCase()} ${path}`
    ),
  );
  for (const each of named) {
    const [method, path] = each.split(" ");
    assert.ok(document.paths[path!]?.[method!], each);
  }
  const oldOperations = Object.entries<object>(document.paths)
    .filter(([path]) => /^\/(charge|payments|notification|invoices|subscriptions)\//.test(path))
    // The old package has no such routes.
    .filter(([path]) => !/^\/(invoices|subscriptions)\/\{pk\}\/check_status\//.test(path))
    .flatMap(([path, item]) =>
      Object.keys(item).filter((name) => ["get", "post"].includes(name))
        .map((method) => `${method} ${path}`)
    );
  assert.ok(oldOperations.length >= 17);
  for (const each of oldOperations) assert.ok(named.has(each), each);
});

Deno.test("moving guide: names every event that was a signal in the old package; the fields listed in this test are named and exist", () => {
  const signals = (document.components.schemas.EventName.enum as string[])
    .filter((name) => !/^(webhook|checkout|attention)_/.test(name));
  for (const name of signals) assert.ok(guide.includes(`\`${name}\``), name);
  const { Payment, Invoice, Subscription } = document.components.schemas;
  const fieldsOf = (...schemas: { properties: object }[]) =>
    schemas.flatMap(({ properties }) => Object.keys(properties));
  const known = fieldsOf(Payment, Invoice, Subscription);
  for (
    const name of ["refunds", "captured_amount", "acquirer", "qr_url", "gateway_invoice_id"].concat(
      ["payment_link_url", "pdf_url", "gateway_subscription_id", "is_expired"],
    )
  ) {
    assert.ok(guide.includes(`\`${name}\``) && known.includes(name), name);
  }
});

Deno.test("moving guide: every task that it calls scheduled is scheduled", () => {
  const section = guide.split(/^## /m).find((text) => text.startsWith("Celery"))!;
  const named = [...section.matchAll(/`(\w+_\w+)`/g)].map(([, name]) => name!);
  assert.ok(named.length >= 4);
  for (const name of named) assert.ok(SCHEDULE.some((each) => each.name === name), name);
});

Deno.test({
  name: "moving guide: its Python code accepts only webhooks that the service signed",
  ignore: !hasPython,
  async fn() {
    await using folder = await createDataFolder();
    await Deno.writeTextFile(
      join(folder.path, "webhooks.py"),
      blockWith(guide, "python", "def verified"),
    );
    const secret = newSecret();
    const body = JSON.stringify({ id: "1", name: "payment_settled", data: { order_id: "é" } });
    const headersAt = (ageMs: number, secrets = [secret]) =>
      signatureHeaders({ id: "1", body }, secrets, new Date(Date.now() - ageMs));
    const cases = [
      { headers: headersAt(0), body },
      { headers: headersAt(0, [newSecret(), secret]), body },
      { headers: headersAt(0), body: body.replace("settled", "refunded") },
      { headers: headersAt(0, [newSecret()]), body },
      { headers: headersAt(10 * 60_000), body },
      { headers: { ...headersAt(0), "webhook-id": "2" }, body },
      { headers: {}, body },
    ];
    const program = `
import json, sys
from webhooks import verified
secret, cases = json.loads(sys.argv[1])
results = [verified(secret, each["headers"], each["body"].encode()) for each in cases]
print(json.dumps([event and event["name"] for event in results]))`;
    const { stdout, stderr } = await new Deno.Command("python3", {
      args: ["-c", program, JSON.stringify([secret, cases])],
      cwd: folder.path,
    }).output();
    assert.equal(new TextDecoder().decode(stderr), "");
    assert.deepEqual(
      JSON.parse(new TextDecoder().decode(stdout)),
      ["payment_settled", "payment_settled", null, null, null, null, null],
    );
  },
});

Deno.test({
  name: "moving guide: its view is valid Python",
  ignore: !hasPython,
  async fn() {
    // The test does not run the view, because that would need Django.
    const view = blockWith(guide, "python", "def payment_events");
    const { stderr } = await new Deno.Command("python3", {
      args: ["-c", "import sys; compile(sys.argv[1], 'views.py', 'exec')", view],
    }).output();
    assert.equal(new TextDecoder().decode(stderr), "");
  },
});
