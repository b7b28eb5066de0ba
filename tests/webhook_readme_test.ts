import assert from "node:assert/strict";
import { join } from "node:path";
import { askService } from "./support/client.ts";
import { dataFolder, PROJECT, startService } from "./support/service.ts";
import { until } from "./support/until.ts";

Deno.test("the README's receiver hears of a payment that is made and paid in the embedded default", async () => {
  const readme = await Deno.readTextFile(join(PROJECT, "README.md"));
  const code = readme.match(/```ts\n(import \{ Webhook \}.*?)```/s)?.[1] ?? "";
  assert.match(code, /port: 3000/);
  await using folder = await dataFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const staff = (method: string, path: string, body?: object) =>
    ask(service.url + path, service.keys.staff, method, body);

  const port = freePort();
  const endpoint = await staff("POST", "/webhook-endpoints/", { url: `http://127.0.0.1:${port}/` });
  await using receiver = await startReceiver({
    folder: folder.path,
    code: code.replace("port: 3000", `port: ${port}, hostname: "127.0.0.1"`),
    secret: String(endpoint.secret),
    port,
  });
  assert.equal((await staff("POST", `/webhook-endpoints/${endpoint.id}/test/`)).succeeded, true);
  await until("the test is told", () => receiver.said().includes("webhook_endpoint_tested"));
  await ask(`${service.url}/charge/`, service.keys.user, "POST", {
    payment_type: "gopay",
    gross_amount: 10_000,
    order_id: "receiver-1",
  });
  await fetch(`${service.sandbox}/_sandbox/transactions/receiver-1/pay`, { method: "POST" })
    .then((response) => response.body?.cancel());
  await until("it is told", () => receiver.said().includes("payment_settled"));
  assert.ok(
    receiver.said().indexOf("payment_received") < receiver.said().indexOf("payment_settled"),
  );
  const forged = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}" });
  assert.equal(forged.status, 400);
  await forged.body?.cancel();
});

async function ask(url: string, key: string, method: string, body?: object) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const response = await askService(url, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(response.ok, await response.clone().text());
  return await response.json() as Record<string, unknown>;
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function takesConnections(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

interface Receiver extends AsyncDisposable {
  said(): string;
}

async function startReceiver(
  { folder, code, secret, port }: { folder: string; code: string; secret: string; port: number },
): Promise<Receiver> {
  const path = join(folder, "receiver.ts");
  await Deno.writeTextFile(path, code);
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-lock", "--no-config", "--allow-net", "--allow-env", path],
    env: { WEBHOOK_SECRET: secret, NO_COLOR: "1" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let said = "";
  const reading = (async () => {
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) said += text;
  })();
  await until("it listens", () => takesConnections(port));
  return {
    said: () => said,
    async [Symbol.asyncDispose]() {
      process.kill("SIGKILL");
      await process.status;
      await reading;
    },
  };
}
