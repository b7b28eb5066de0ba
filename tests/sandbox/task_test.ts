import assert from "node:assert/strict";
import { join } from "node:path";
import { startSandbox } from "../../sandbox/sandbox.ts";
import { blockWith, readGuide, runBlock } from "../support/guides/text.ts";
import { hasProgram } from "../support/programs.ts";
import { dataFolder, PROJECT, runTask, startService } from "../support/service.ts";

const TASK = [Deno.execPath(), "task", "-q", "--config", join(PROJECT, "deno.json"), "sandbox"];

async function startAlone(...args: string[]) {
  await using elsewhere = await dataFolder();
  return await startService({ command: [...TASK, "--port", "0", ...args], cwd: elsewhere.path });
}

Deno.test("one line in any other folder runs the sandbox alone", async () => {
  await using sandbox = await startAlone("--memory");
  assert.match(sandbox.output(), /SB-Mid-server-sandbox/);
  const page = await fetch(sandbox.url);
  assert.equal(page.status, 200);
  assert.match(await page.text(), /no money moves/i);
});

Deno.test({
  name: "the guide's first charge works as it stands there, and its customer pays",
  ignore: !await hasProgram("curl", "the test of the sandbox's first charge is"),
  async fn() {
    await using sandbox = await startAlone("--memory");
    await using folder = await dataFolder();
    const block = blockWith(await readGuide("sandbox.md"), "sh", "8001/v2/charge");
    const inPlace = block.replaceAll("http://127.0.0.1:8001", sandbox.url);
    const { stdout } = await runBlock(inPlace, {}, folder.path);
    assert.equal(JSON.parse(stdout).transaction_status, "pending");
    const paid = JSON.parse(await Deno.readTextFile(join(folder.path, "happened.json")));
    assert.equal(paid.transaction_status, "settlement");
  },
});

Deno.test("every control and fault is in the guide", async () => {
  const guide = await Deno.readTextFile(join(PROJECT, "docs/sandbox.md"));
  const { ANSWER_FAULTS, WEBHOOK_FAULTS } = await import("../../sandbox/world/faults.ts");
  const { HAPPENINGS } = await import("../../sandbox/control/happenings.ts");
  for (const name of [...ANSWER_FAULTS, ...WEBHOOK_FAULTS, ...Object.keys(HAPPENINGS)]) {
    assert.ok(guide.includes(`\`${name}\``), name);
  }
});

Deno.test("other keys, another address and webhooks are a matter of flags", async () => {
  const { promise: notified, resolve } = Promise.withResolvers<Record<string, string>>();
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using receiver = Deno.serve(options, async (request) => {
    resolve(await request.json());
    return new Response();
  });
  await using sandbox = await startAlone(
    ...["--memory", "--server-key", "Mid-server-mine", "--client-key", "Mid-client-mine"],
    ...["--notify", `http://127.0.0.1:${receiver.addr.port}/hook`],
    ...["--public-url", "http://gateway.test/"],
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
});

Deno.test("what is wrong with the flags is told in words", async () => {
  const wrong: [args: string[], says: RegExp][] = [
    [["--port", "http"], /--port must be a whole number/],
    [["--speed", "0"], /--speed must be a whole number/],
    [["--notify", "nowhere"], /--notify must be an http address/],
    [["--public-url", "http://x/a?b#c"], /--public-url must be an address without/],
    [["--server-key", "a b"], /--server-key must be a key/],
    [["--host", "192.0.2.1", "--memory", "--port", "0"], /host is no address of this machine/],
    [["--colour"], /Unknown option '--colour'[\s\S]*--port 8001/],
    [["--data", "/tmp/elsewhere.kv"], /does not allow/],
  ];
  for (const [args, says] of wrong) {
    const { code, stderr } = await runTask(["sandbox", ...args], {});
    assert.equal(code, 1, args.join(" "));
    assert.match(stderr, says);
    assert.doesNotMatch(stderr, /\bat file:|Uncaught/);
  }
  const { code, stdout } = await runTask(["sandbox", "--help"], {});
  assert.equal(code, 0);
  assert.match(stdout, /--server-key KEY/);
});

Deno.test("a port that is taken, and a file that is in use, are told in words", async () => {
  const data = `.data/test-${crypto.randomUUID()}.kv`;
  try {
    await using sandbox = await startAlone("--data", data);
    const { port } = new URL(sandbox.url);
    const taken = await runTask(["sandbox", "--memory", "--port", port], {});
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /port is taken/);
    const inUse = await runTask(["sandbox", "--data", data, "--port", "0"], {});
    assert.equal(inUse.code, 1);
    assert.match(inUse.stderr, /Another sandbox has its state in/);
  } finally {
    for (const suffix of ["", ".lock", "-shm", "-wal"]) {
      await Deno.remove(join(PROJECT, data + suffix)).catch(() => {});
    }
  }
});

Deno.test("beside the service it runs with the well-known keys and sends its webhooks there", async () => {
  await using folder = await dataFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  assert.match(service.sandbox, /^http:\/\/127\.0\.0\.1:\d+$/);
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

Deno.test("its state survives the service's end", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path };
  const ask = async (url: string, path: string, init: RequestInit = {}) => {
    const headers = { Authorization: `Basic ${btoa("SB-Mid-server-sandbox:")}` };
    return await (await fetch(url + path, { ...init, headers })).json();
  };
  {
    await using service = await startService({ settings });
    const body = JSON.stringify({
      payment_type: "qris",
      transaction_details: { order_id: "kept", gross_amount: 1000 },
    });
    await ask(service.sandbox, "/v2/charge", { method: "POST", body });
  }
  await using service = await startService({ settings });
  assert.equal((await ask(service.sandbox, "/v2/kept/status")).transaction_status, "pending");
});

Deno.test("a state that another sandbox uses stops the start in one line", async () => {
  await using folder = await dataFolder();
  await using _other = await startSandbox({ path: join(folder.path, "sandbox.kv"), port: 0 });
  const settings = { DATA_DIR: folder.path, PORT: "0", SANDBOX_PORT: "0" };
  const { code, stderr } = await runTask(["start"], settings);
  assert.equal(code, 1);
  assert.match(stderr, /^Another sandbox has its state in .*$/m);
  assert.doesNotMatch(stderr, /\bat file:/);
});

Deno.test("a sandbox port that is taken stops the start in one line", async () => {
  await using folder = await dataFolder();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = String(listener.addr.port);
  const settings = { DATA_DIR: folder.path, PORT: "0", SANDBOX_PORT: port };
  const { code, stderr } = await runTask(["start"], settings);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`Port ${port} is already in use\\. .* set SANDBOX_PORT\\.`));
});

Deno.test("with a gateway of one's own there is no sandbox", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path, GATEWAY_SERVER_KEY: "Mid-server-x", HOST: "127.0.0.1" };
  await using service = await startService({ settings });
  assert.equal(service.sandbox, "");
  await assert.rejects(Deno.stat(join(folder.path, "sandbox.kv")), Deno.errors.NotFound);
});
