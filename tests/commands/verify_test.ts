import assert from "node:assert/strict";
import { join } from "node:path";
import { allAssumptions, testAssumptions } from "../../commands/verify/assumptions.ts";
import { type RecordingFile, replay } from "../../commands/verify/recordings.ts";
import { STEPS } from "../../commands/verify/steps.ts";
import { controlSandbox, verifyGateway } from "../../commands/verify/verify.ts";
import { runInProcess } from "../support/commands.ts";
import { openFakeGateway } from "../support/gateway/gateway.ts";
import { truncatedResponse } from "../support/gateway/proxy.ts";
import { openRelay, type Relay } from "../support/gateway/relay.ts";
import { type Json, openSandbox } from "../support/gateway/sandbox.ts";
import { hasProgram } from "../support/programs.ts";
import { copyProject, createDataFolder, PROJECT } from "../support/project.ts";
import { environment } from "../support/service.ts";

const KEYS = { serverKey: "SB-Mid-server-own-key", clientKey: "SB-Mid-client-own-key" };

/** The gateway's public test cards that the steps use, and the CVV as a parameter. */
const CARD_DATA = /4[5-9]11111111111(1[3-7]|14)|4617006959746656|card_cvv=\d/;

function settings(url: string, dataDir: string): Record<string, string> {
  return {
    GATEWAY_BASE_URL: url,
    GATEWAY_SERVER_KEY: KEYS.serverKey,
    GATEWAY_CLIENT_KEY: KEYS.clientKey,
    DATA_DIR: dataDir,
  };
}

async function readRecordings(dataDir: string): Promise<{ text: string; file: RecordingFile }> {
  const text = await Deno.readTextFile(join(dataDir, "gateway-recordings.json"));
  return { text, file: JSON.parse(text) };
}

function assertNoSecrets(text: string): void {
  for (const key of Object.values(KEYS)) {
    assert.ok(!text.includes(key) && !text.includes(btoa(`${key}:`)));
  }
  assert.doesNotMatch(text, CARD_DATA);
}

Deno.test("verify-gateway: finds no difference at the sandbox, with a person who does every task", async () => {
  await using box = await openSandbox(KEYS);
  const tasks: string[] = [];
  const { results, recordings } = await verifyGateway({
    gateway: { baseUrl: box.url, ...KEYS },
    person({ text, controlPath }) {
      tasks.push(text);
      return controlSandbox(box.url, controlPath);
    },
  });
  assert.deepEqual(results.filter(({ result }) => result !== "agrees"), []);
  assert.equal(results.length, STEPS.length);
  assert.equal(tasks.length, STEPS.filter(({ person }) => person).length);
  assert.ok(tasks.some((text) => /QR image:\nhttp/.test(text)));
  const untested = testAssumptions(results).filter(({ result }) => result === "not_tested");
  const untestable = allAssumptions().filter(({ steps }) => steps === null);
  assert.deepEqual(untested.map(({ text }) => text), untestable.map(({ text }) => text));
  for (const { response: { body } } of recordings) {
    const { token_id, saved_token_id, signature_key } = body as Json;
    for (const secret of [token_id, saved_token_id, signature_key]) {
      assert.ok(secret === undefined || secret === "[secret]");
    }
  }
  for (const recording of recordings) {
    assert.deepEqual(await replay(recording), recording.reading, recording.step);
  }
});

Deno.test("verify-gateway: as a task without a terminal, writes the recordings without secrets, lists the steps that need a person, and exits with 0", async () => {
  await using box = await openSandbox(KEYS);
  await using folder = await createDataFolder();
  const project = join(folder.path, "project");
  await copyProject(project);
  const { DATA_DIR, ...own } = settings(box.url, join(project, ".data"));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "-q", "verify-gateway"],
    env: environment(own),
    clearEnv: true,
    cwd: project,
    stdin: "null",
  }).output();
  const [report, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, errors);
  assert.match(report!, /^ {2}= charge bca$/m);
  assert.match(report!, /^ {2}\. status qris, paid: needs a person at a terminal$/m);
  assert.match(report!, /^ {2}\? Refunds: More than is left gets 414\.$/m);
  assert.match(report!, /^ {2}\? Delivery: /m);
  assert.match(report!, /^Differences: 0$/m);
  const { text, file } = await readRecordings(DATA_DIR!);
  assert.ok(file.recordings.length > 150);
  assertNoSecrets(text + report + errors);
});

const hasTerminal = Deno.build.os === "linux" &&
  await hasProgram("script", "the test of verify-gateway in a terminal is");

Deno.test({
  name:
    "verify-gateway: in a terminal, asks a person to pay, goes on after Enter, and skips a step after s",
  ignore: !hasTerminal,
  async fn() {
    await using box = await openSandbox(KEYS);
    await using folder = await createDataFolder();
    const command = `${Deno.execPath()} run -q -P=test main.ts verify-gateway`;
    // `script` gives the command a terminal.
    const child = new Deno.Command("script", {
      args: ["-qfec", command, "/dev/null"],
      env: environment(settings(box.url, folder.path)),
      clearEnv: true,
      cwd: PROJECT,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const keyboard = child.stdin.getWriter();
    const decoder = new TextDecoder();
    let output = "";
    let answered = 0;
    for await (const chunk of child.stdout) {
      output += decoder.decode(chunk, { stream: true });
      const questions = output.split(/skip this step:/);
      while (answered < questions.length - 1) {
        const [, id] = questions[answered++]!.match(/\/v2\/gopay\/([\w-]+)\/qr-code\s+Then/) ?? [];
        if (id) await box.control(`transactions/${id}/pay`);
        await keyboard.write(new TextEncoder().encode(id ? "\r" : "s\r"));
      }
    }
    await keyboard.close().catch(() => {});
    assert.equal((await child.status).code, 0, output);
    assert.equal(answered, STEPS.filter(({ person }) => person).length);
    assert.match(output, /^ {2}= status gopay, paid\r?$/m);
    assert.match(output, /^ {2}= refund the rest directly\r?$/m);
    assert.match(output, /^ {2}\. status qris, paid: skipped\r?$/m);
  },
});

interface Plant {
  /** Returns the changed response. */
  change(body: Json): Response | Json;
  /** The step, and for each difference: member, gateway, assumed, affects_client. */
  step: string;
  found: [string, string, string, boolean][];
}

const WIB = "a time like 2026-01-31 17:05:09";

const missing = (name: string) => ({ [name]: _removed, ...body }: Json) => body;

/** By the call: the operation and the order, or method and path. */
const PLANTS: Record<string, Plant> = {
  "charge bca": {
    change: (body) => ({ ...body, gross_amount: 20_000 }),
    step: "charge bca",
    found: [["gross_amount", "20000", '"20000.00"', false]],
  },
  "cancel bri": {
    change: (body) => ({ ...body, status_code: "201" }),
    step: "cancel bri",
    found: [["status_code", '"201"', '"200"', true]],
  },
  "status cimb": {
    change: (body) => Response.json(body, { status: 203 }),
    step: "status cimb",
    found: [["HTTP status", "203", "200", false]],
  },
  "charge permata": {
    change: (body) => ({ ...body, note: "new" }),
    step: "charge permata",
    found: [["note", '"new"', "missing", false]],
  },
  "charge mandiri-bill": {
    change: (body) => ({ ...body, expiry_time: body.transaction_time }),
    step: "charge mandiri bill",
    found: [["minutes until expiry", "0", "1440", true]],
  },
  "charge indomaret": {
    change: missing("store"),
    step: "charge indomaret",
    found: [["store", "missing", '"indomaret"', true]],
  },
  "charge alfamart": {
    change: () => new Response("<h1>Bad gateway</h1>", { status: 502 }),
    step: "charge alfamart",
    found: [["HTTP status", "502", "200", true], [
      "body",
      '"<h1>Bad gateway</h1>"',
      "object",
      true,
    ]],
  },
  "charge gopay": {
    change: (body) => ({ ...body, status_message: "GO-PAY billing created" }),
    step: "charge gopay",
    found: [[
      "status_message",
      '"GO-PAY billing created"',
      '"GoPay transaction is created"',
      true,
    ]],
  },
  "charge qris": {
    change: missing("expiry_time"),
    step: "charge qris",
    found: [["expiry_time", "missing", WIB, true]],
  },
  "cancel qris-shopee": {
    change: () => truncatedResponse(),
    step: "cancel qris, shopee",
    found: [["response", "no response (unreachable)", "a response", true]],
  },
  "charge shopeepay": {
    change: (body) => ({ ...body, actions: [{ ...body.actions[0], name: "deeplink" }] }),
    step: "charge shopeepay",
    found: [["actions[deeplink-redirect]", "missing", "object", true], [
      "actions[deeplink]",
      "object",
      "missing",
      true,
    ]],
  },
  "cancel akulaku": {
    change: (body) => ({ ...body, transaction_time: "2026-11-18T09:00:00Z" }),
    step: "cancel akulaku",
    found: [["transaction_time", "a time like 2026-01-31T17:05:09Z", WIB, true]],
  },
  "status kredivo": {
    change: (body) => ({ ...body, signature_key: "0".repeat(128) }),
    step: "status kredivo",
    found: [["signature_key fits the formula", "false", "true", true]],
  },
  "charge with-a-key": {
    change: (body) => ({ ...body, transaction_id: crypto.randomUUID() }),
    step: "charge with the same key again",
    found: [["transaction_id", "a UUID", 'the transaction_id of "charge with a key"', true]],
  },
  "GET /v1/bins/45563300": {
    change: ({ data }) => ({ data: { ...data, registration_required: "false" } }),
    step: "BIN",
    found: [["data.registration_required", '"false"', "false", true]],
  },
  "GET /v1/subscriptions/00000000-0000-4000-8000-000000000000": {
    change: (body) => Response.json(body, { status: 400 }),
    step: "subscription, unknown",
    found: [["HTTP status", "400", "404", true]],
  },
};

/** Applies each plant to the first call that it names; `charge with-a-key` to the second. */
function plant(relay: Relay): void {
  const orders = new Map<string, string>();
  const called = new Map<string, number>();
  relay.intercept = async ({ method, target, body: sent }, pass) => {
    const [, id, operation] = target.match(/^\/v2\/([^/?]+)\/(\w+)$/) ?? [];
    const orderId = target === "/v2/charge"
      ? JSON.parse(sent).transaction_details.order_id
      : orders.get(id!) ?? id;
    const order = String(orderId).replace(/^v[\da-f]{10}-/, "");
    const name = target === "/v2/charge"
      ? `charge ${order}`
      : operation
      ? `${operation} ${order}`
      : `${method} ${target}`;
    const times = (called.get(name) ?? 0) + 1;
    called.set(name, times);
    const isPlanted = times === (name === "charge with-a-key" ? 2 : 1);
    const response = await pass();
    // The account does not have OVO.
    if (name === "charge ovo") {
      await response.body?.cancel();
      const status_message = "Payment channel is not activated.";
      return Response.json({ status_code: "402", status_message, id: crypto.randomUUID() });
    }
    const text = await response.text();
    const body = text.startsWith("{") ? JSON.parse(text) : {};
    if (body.transaction_id) orders.set(body.transaction_id, orderId);
    const changed = isPlanted ? PLANTS[name]?.change(body) : undefined;
    if (changed instanceof Response) return changed;
    const { status } = response;
    return changed ? Response.json(changed, { status }) : new Response(text, { status });
  };
}

Deno.test("verify-gateway: names exactly the planted differences and exits with 1; a payment type that the account lacks is no difference", async () => {
  await using box = await openSandbox(KEYS);
  await using folder = await createDataFolder();
  await using relay = openRelay();
  relay.target = box.url;
  plant(relay);
  const { code, stdout } = await runInProcess(
    ["verify-gateway", "--json"],
    settings(relay.url, folder.path),
  );
  assert.equal(code, 1);
  const { steps, summary, assumptions } = JSON.parse(stdout);
  const found = steps.filter(({ result }: Json) => result === "differs").map((each: Json) => [
    each.step,
    each.differences.map(({ member, gateway, assumed, affects_client }: Json) => [
      member,
      gateway,
      assumed,
      affects_client,
    ]),
  ]);
  assert.deepEqual(found, Object.values(PLANTS).map(({ step, found }) => [step, found]));
  assert.deepEqual(
    steps.filter(({ result }: Json) => result === "not_available").map(({ step }: Json) => step),
    ["charge ovo", "status ovo", "cancel ovo", "status after cancel ovo"],
  );
  assert.equal(summary.differs, Object.keys(PLANTS).length);
  const differing = assumptions.filter(({ result }: Json) => result === "differs");
  assert.ok(differing.some(({ heading }: Json) => heading === "Expiry"));
  assertNoSecrets(stdout + (await readRecordings(folder.path)).text);
});

Deno.test("verify-gateway: refuses production and keys that may be of production, without a request, and exits with 2", async () => {
  await using gateway = openFakeGateway(() => Response.json({}));
  await using folder = await createDataFolder();
  const own = settings(gateway.url, folder.path);
  const production = {
    ...own,
    GATEWAY_SERVER_KEY: "Mid-server-production",
    GATEWAY_CLIENT_KEY: "Mid-client-production",
  };
  const cases: [Record<string, string>, RegExp, ...string[]][] = [
    [{ ...production, GATEWAY_ENV: "production" }, /does not run in production/],
    [{ ...own, GATEWAY_BASE_URL: "https://api.midtrans.com" }, /does not run in production/],
    [{ ...own, GATEWAY_BASE_URL: "https://api.midtrans.com./x" }, /does not run in production/],
    [production, /GATEWAY_SERVER_KEY does not begin with SB-/],
    [{ ...own, GATEWAY_CLIENT_KEY: "Mid-client-x" }, /GATEWAY_CLIENT_KEY does not begin with SB-/],
    [production, /works only at api\.sandbox\.midtrans\.com/, "--keys-without-prefix"],
    [{ ...own, GATEWAY_ENV: "production" }, /is a sandbox key/],
    [{ DATA_DIR: folder.path }, /^Set GATEWAY_SERVER_KEY/],
    [own, /^Usage:/, "--other"],
  ];
  for (const [settings, message, ...args] of cases) {
    const { code, stdout, stderr } = await runInProcess(["verify-gateway", ...args], settings);
    assert.deepEqual([code, stdout], [2, ""], stderr);
    assert.match(stderr, message);
    assert.ok(!stderr.includes("Mid-server-production") && !stderr.includes(KEYS.serverKey));
  }
  assert.deepEqual(gateway.received, []);
});

Deno.test("verify-gateway: exits with 2 if the gateway rejects the key or does not respond", async () => {
  await using box = await openSandbox({ serverKey: "SB-Mid-server-another" });
  await using folder = await createDataFolder();
  const rejected = await runInProcess(
    ["verify-gateway", "--json"],
    settings(box.url, folder.path),
  );
  assert.equal(rejected.code, 2);
  assert.match(rejected.stderr, /rejected GATEWAY_SERVER_KEY/);
  // A port on which no server listens.
  const unreachable = await runInProcess(
    ["verify-gateway", "--json"],
    settings("http://127.0.0.1:1", folder.path),
  );
  assert.equal(unreachable.code, 2);
  assert.match(unreachable.stderr, /no response \(unreachable\)/);
});

Deno.test("verify-gateway: without a client key, does not run the steps with cards", async () => {
  await using box = await openSandbox(KEYS);
  const { results } = await verifyGateway({
    gateway: { baseUrl: box.url, serverKey: KEYS.serverKey, clientKey: null },
    person: null,
  });
  assert.deepEqual(results.filter(({ result }) => result === "differs"), []);
  const { result, reason } = results.find(({ step }) => step === "token of a card")!;
  assert.deepEqual([result, reason], ["not_run", "GATEWAY_CLIENT_KEY is not set"]);
});

Deno.test("verify-gateway: tests or lists assumptions under every heading of docs/gateway.md, and every step tests one", async () => {
  const page = await Deno.readTextFile(join(PROJECT, "docs/gateway.md"));
  const facts = page.slice(0, page.indexOf("\n## Verifying the gateway\n"));
  const headings = [...facts.matchAll(/^##+ (.*)$/gm)].map(([, heading]) => heading);
  const assumptions = allAssumptions();
  assert.deepEqual(
    [...new Set(assumptions.map(({ heading }) => heading))],
    // Has only headings below it.
    headings.filter((heading) => heading !== "Payment types"),
  );
  const names = STEPS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { text, steps } of assumptions) {
    assert.ok(steps === null || names.some((name) => steps.test(name)), text);
  }
  const unused = names.filter((name) => !assumptions.some(({ steps }) => steps?.test(name)));
  assert.deepEqual(unused, []);
});
