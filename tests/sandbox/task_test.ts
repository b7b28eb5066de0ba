import assert from "node:assert/strict";
import { join } from "node:path";
import { startSandbox } from "../../sandbox/sandbox.ts";
import { blockWith, readGuide, runBlock } from "../support/guides/text.ts";
import { hasProgram } from "../support/programs.ts";
import { createDataFolder, PROJECT } from "../support/project.ts";
import { preparedFolder, runTask, startError, startService } from "../support/service.ts";

const TASK = [Deno.execPath(), "task", "-q", "--config", join(PROJECT, "deno.json"), "sandbox"];

async function startSandboxTask(...args: string[]) {
  await using otherFolder = await createDataFolder();
  return await startService({ command: [...TASK, "--port", "0", ...args], cwd: otherFolder.path });
}

Deno.test("sandbox task: starts without the service, also from another folder", async () => {
  await using sandbox = await startSandboxTask("--memory");
  assert.match(sandbox.output(), /SB-Mid-server-sandbox/);
  const page = await fetch(sandbox.url);
  assert.equal(page.status, 200);
  assert.match(await page.text(), /no real payments/i);
});

Deno.test({
  name: "sandbox guide: its first charge works as written and is paid",
  ignore: !await hasProgram("curl", "the test of the sandbox's first charge is"),
  async fn() {
    await using sandbox = await startSandboxTask("--memory");
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
    [["--data", "/tmp/elsewhere.kv"], /does not have this permission/],
  ];
  for (const [args, message] of wrong) {
    const { code, stderr } = await runTask(["sandbox", ...args], {});
    assert.equal(code, 1, args.join(" "));
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /\bat file:|Uncaught/);
  }
  const { code, stdout } = await runTask(["sandbox", "--help"], {});
  assert.equal(code, 0);
  assert.match(stdout, /--server-key KEY/);
});

Deno.test("sandbox task: reports a port in use and a state file in use", async () => {
  const data = `.data/test-${crypto.randomUUID()}.kv`;
  try {
    await using sandbox = await startSandboxTask("--data", data);
    const { port } = new URL(sandbox.url);
    const taken = await runTask(["sandbox", "--memory", "--port", port], {});
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /port is already in use/);
    const inUse = await runTask(["sandbox", "--data", data, "--port", "0"], {});
    assert.equal(inUse.code, 1);
    assert.match(inUse.stderr, /Another sandbox is using/);
  } finally {
    for (const suffix of ["", ".archive", ".lock", "-shm", "-wal"]) {
      await Deno.remove(join(PROJECT, data + suffix)).catch(() => {});
    }
  }
});

Deno.test("service with sandbox: uses the default keys and receives its webhooks", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  assert.match(service.sandbox, /^http:\/\/127\.0\.0\.1:\d+$/);
  const page = await (await fetch(service.sandbox)).text();
  assert.ok(
    page.includes(`${service.url}/charge/`),
    "the empty list shows how to call the service",
  );
  assert.ok(page.includes(`Bearer ${service.keys.user}`));
  const charged = await fetch(`${service.sandbox}/v2/charge`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa("SB-Mid-server-sandbox:")}` },
    body: JSON.stringify({
      payment_type: "gopay",
      transaction_details: { order_id: "one", gross_amount: 1000 },
    }),
  });
  assert.equal((await charged.json()).status_code, "201");
  await (await fetch(`${service.sandbox}/_sandbox/webhooks/settle`, { method: "POST" })).text();
  const webhooks = await (await fetch(`${service.sandbox}/_sandbox/webhooks`)).json();
  assert.equal(webhooks[0].url, `${service.url}/notification/`);
});

Deno.test("service with sandbox: keeps the sandbox state after a restart", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const requestJson = async (url: string, path: string, init: RequestInit = {}) => {
    const headers = { Authorization: `Basic ${btoa("SB-Mid-server-sandbox:")}` };
    return await (await fetch(url + path, { ...init, headers })).json();
  };
  {
    await using service = await startService({ settings });
    const body = JSON.stringify({
      payment_type: "qris",
      transaction_details: { order_id: "kept", gross_amount: 1000 },
    });
    await requestJson(service.sandbox, "/v2/charge", { method: "POST", body });
  }
  await using service = await startService({ settings });
  assert.equal(
    (await requestJson(service.sandbox, "/v2/kept/status")).transaction_status,
    "pending",
  );
});

Deno.test("service with sandbox: fails with one line if the state file is in use", async () => {
  await using folder = await preparedFolder();
  await using _other = await startSandbox({ path: join(folder.path, "sandbox.kv"), port: 0 });
  const settings = { DATA_DIR: folder.path, PORT: "0", SANDBOX_PORT: "0" };
  const { code, stderr } = await runTask(["start"], settings);
  assert.equal(code, 1);
  assert.match(startError(stderr), /^Another sandbox is using .*$/m);
  assert.doesNotMatch(stderr, /\bat file:/);
});

Deno.test("service with sandbox: fails with one line if the sandbox port is in use", async () => {
  await using folder = await preparedFolder();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = String(listener.addr.port);
  const settings = { DATA_DIR: folder.path, PORT: "0", SANDBOX_PORT: port };
  const { code, stderr } = await runTask(["start"], settings);
  assert.equal(code, 1);
  const error = startError(stderr);
  assert.match(error, new RegExp(`Port ${port} is already in use\\. .* set SANDBOX_PORT\\.`));
});

Deno.test("service with a gateway key: starts no sandbox", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path, GATEWAY_SERVER_KEY: "Mid-server-x", HOST: "127.0.0.1" };
  await using service = await startService({ settings });
  assert.equal(service.sandbox, "");
  await assert.rejects(Deno.stat(join(folder.path, "sandbox.kv")), Deno.errors.NotFound);
});
