import assert from "node:assert/strict";
import { join } from "node:path";
import { startSandbox } from "../../sandbox/sandbox.ts";
import { blockWith, readGuide, runBlock } from "../support/guides/text.ts";
import { hasProgram } from "../support/programs.ts";
import { createDataFolder, PROJECT } from "../support/project.ts";
import {
  environment,
  type Outcome,
  preparedFolder,
  startError,
  startService,
} from "../support/service.ts";

const TASK = [Deno.execPath(), "task", "-q", "--config", join(PROJECT, "deno.json"), "sandbox"];

/** Runs the command of the task itself, because `deno task` is one more process. */
async function runSandbox(args: string[]): Promise<Outcome> {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(PROJECT, "deno.json")));
  const [, ...command] = tasks.sandbox.split(" ");
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...command, ...args],
    env: environment({}),
    clearEnv: true,
    cwd: PROJECT,
    stdin: "null",
  }).output();
  const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout: output!, stderr: errors! };
}

async function startSandboxTask(...args: string[]) {
  await using otherFolder = await createDataFolder();
  return await startService({ command: [...TASK, "--port", "0", ...args], cwd: otherFolder.path });
}

const hasCurl = await hasProgram("curl", "the test of the sandbox's first charge is");

Deno.test({
  name:
    "sandbox task: starts without the service, also from another folder, and the guide's first charge works as written and is paid",
  async fn() {
    await using sandbox = await startSandboxTask("--memory");
    assert.match(sandbox.output(), /SB-Mid-server-sandbox/);
    const page = await fetch(sandbox.url);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /no real payments/i);
    if (!hasCurl) return;
    await using folder = await createDataFolder();
    const block = blockWith(await readGuide("sandbox.md"), "sh", "8001/v2/charge");
    const script = block.replaceAll("http://127.0.0.1:8001", sandbox.url);
    const { stdout } = await runBlock(script, {}, folder.path);
    assert.equal(JSON.parse(stdout).transaction_status, "pending");
    const paid = JSON.parse(await Deno.readTextFile(join(folder.path, "happened.json")));
    assert.equal(paid.transaction_status, "settlement");
  },
});

Deno.test("sandbox guide: lists every simulated action and fault", async () => {
  const guide = await Deno.readTextFile(join(PROJECT, "docs/sandbox.md"));
  const { RESPONSE_FAULTS, WEBHOOK_FAULTS } = await import("../../sandbox/faults/faults.ts");
  const { SIMULATED_ACTIONS } = await import("../../sandbox/charges/simulate.ts");
  for (const name of [...RESPONSE_FAULTS, ...WEBHOOK_FAULTS, ...Object.keys(SIMULATED_ACTIONS)]) {
    assert.ok(guide.includes(`\`${name}\``), name);
  }
});

Deno.test("sandbox task: flags set keys, public URL and webhook URL", async () => {
  const { promise: notified, resolve } = Promise.withResolvers<Record<string, string>>();
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using receiver = Deno.serve(options, async (request) => {
    resolve(await request.json());
    return new Response();
  });
  await using sandbox = await startSandboxTask(
    ...["--memory", "--server-key", "Mid-server-mine", "--client-key", "Mid-client-mine"],
    ...["--notify", `http://127.0.0.1:${receiver.addr.port}/hook`],
    ...["--public-url", "http://gateway.test/", "--metadata-in-status"],
  );
  const charge = (key: string) =>
    fetch(`${sandbox.url}/v2/charge`, {
      method: "POST",
      headers: { Authorization: `Basic ${btoa(`${key}:`)}` },
      body: JSON.stringify({
        payment_type: "gopay",
        transaction_details: { order_id: "one", gross_amount: 1000 },
      }),
    });
  const refused = await charge("SB-Mid-server-sandbox");
  assert.equal(refused.status, 401);
  await refused.body?.cancel();
  const { actions } = await (await charge("Mid-server-mine")).json();
  assert.match(actions[0].url, /^http:\/\/gateway\.test\/v2\//);
  assert.equal((await notified).order_id, "one");
  const settings = await (await fetch(`${sandbox.url}/_sandbox/settings`)).json();
  assert.equal(settings.metadata_in_status, true);
});

Deno.test("sandbox task: reports invalid flags with a message", async () => {
  const wrong: [args: string[], message: RegExp][] = [
    [["--port", "http"], /--port must be a whole number/],
    [["--speed", "0"], /--speed must be a whole number/],
    [["--notify", "nowhere"], /--notify must be an http or https URL/],
    [["--public-url", "http://x/a?b#c"], /--public-url must be a URL without/],
    [["--server-key", "a b"], /--server-key must not contain spaces/],
    [["--host", "192.0.2.1", "--memory", "--port", "0"], /machine does not have that address/],
    [["--colour"], /Unknown option '--colour'[\s\S]*--port 8001/],
    [["--data", "/tmp/elsewhere.sqlite"], /does not have this permission/],
  ];
  for (const [args, message] of wrong) {
    const { code, stderr } = await runSandbox(args);
    assert.equal(code, 1, args.join(" "));
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /\bat file:|Uncaught/);
  }
  const { code, stdout } = await runSandbox(["--help"]);
  assert.equal(code, 0);
  assert.match(stdout, /--server-key KEY/);
});

Deno.test("sandbox task: reports a port in use and a state file in use", async () => {
  const data = `.data/test-${crypto.randomUUID()}.sqlite`;
  try {
    await using sandbox = await startSandboxTask("--data", data);
    const { port } = new URL(sandbox.url);
    const taken = await runSandbox(["--memory", "--port", port]);
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /port is already in use/);
    const inUse = await runSandbox(["--data", data, "--port", "0"]);
    assert.equal(inUse.code, 1);
    assert.match(inUse.stderr, /Another sandbox is using/);
  } finally {
    for (const suffix of ["", "-wal"]) {
      await Deno.remove(join(PROJECT, data + suffix)).catch(() => {});
    }
  }
});

Deno.test("service with sandbox: uses the default keys, receives its webhooks, and keeps the sandbox state after a restart", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const headers = { Authorization: `Basic ${btoa("SB-Mid-server-sandbox:")}` };
  {
    await using service = await startService({ settings });
    assert.match(service.sandbox, /^http:\/\/127\.0\.0\.1:\d+$/);
    const page = await (await fetch(service.sandbox)).text();
    assert.ok(
      page.includes(`${service.url}/charge/`),
      "the empty list shows how to call the service",
    );
    assert.ok(page.includes(`Bearer ${service.keys.user}`));
    const charged = await fetch(`${service.sandbox}/v2/charge`, {
      method: "POST",
      headers,
      body: JSON.stringify({
        payment_type: "gopay",
        transaction_details: { order_id: "one", gross_amount: 1000 },
      }),
    });
    assert.equal((await charged.json()).status_code, "201");
    await (await fetch(`${service.sandbox}/_sandbox/webhooks/settle`, { method: "POST" })).text();
    const webhooks = await (await fetch(`${service.sandbox}/_sandbox/webhooks`)).json();
    assert.equal(webhooks[0].url, `${service.url}/notification/`);
  }
  await using service = await startService({ settings });
  const status = await fetch(`${service.sandbox}/v2/one/status`, { headers });
  assert.equal((await status.json()).transaction_status, "pending");
});

/** Fails unless the service ends with one line on its standard error, and returns this line. */
async function failedStart(settings: Record<string, string>): Promise<string> {
  const { message } = await startService({ settings }).then(
    () => assert.fail("The service has started."),
    (error: Error) => error,
  );
  assert.match(message, /^The service ended with 1:\n/);
  assert.doesNotMatch(message, /\bat file:/);
  return startError(message.slice(message.indexOf("\n")));
}

Deno.test("service with sandbox: fails with one line if the state file or the sandbox port is in use", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = String(listener.addr.port);
  assert.match(
    await failedStart({ ...settings, SANDBOX_PORT: port }),
    new RegExp(`Port ${port} is already in use\\. .* set SANDBOX_PORT\\.`),
  );
  await using _other = await startSandbox({ path: join(folder.path, "sandbox.sqlite"), port: 0 });
  assert.match(await failedStart(settings), /^Another sandbox is using .*$/m);
});

Deno.test("service with a gateway key: starts no sandbox", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path, GATEWAY_SERVER_KEY: "Mid-server-x", HOST: "127.0.0.1" };
  await using service = await startService({ settings });
  assert.equal(service.sandbox, "");
  await assert.rejects(Deno.stat(join(folder.path, "sandbox.sqlite")), Deno.errors.NotFound);
});
