import assert from "node:assert/strict";
import { join } from "node:path";
import { SETTING_NAMES } from "../../core/config/settings.ts";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { freePort } from "../support/free_port.ts";
import {
  buildImage,
  type Image,
  imageEnvironment,
  includedPaths,
} from "../support/guides/containerfile.ts";
import { PROJECT } from "../support/project.ts";
import { startService } from "../support/service.ts";
import { YAML } from "../support/tools.ts";
import { inTime, until } from "../support/until.ts";

const SANDBOX_FILE = "deploy/sandbox.Containerfile";

const { parse: parseYaml } = await import(YAML);
const compose = parseYaml(await readProjectFile("compose.yaml"));

let service: Image;
let sandbox: Image;

Deno.test.beforeAll(async () => {
  service = await buildImage(await imageFolder());
  sandbox = await buildImage(await imageFolder(), SANDBOX_FILE);
});

Deno.test.afterAll(async () => {
  for (const { root } of [service, sandbox]) await Deno.remove(root, { recursive: true });
});

async function imageFolder(): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "payment-gateway-image-" });
  await Deno.chmod(root, 0o755);
  return root;
}

function readProjectFile(name: string): Promise<string> {
  return Deno.readTextFile(join(PROJECT, name));
}

interface Program extends AsyncDisposable {
  output(): string;
}

/** Runs a program of an image and collects its output. */
function run(image: Image, command: string[], env: Record<string, string>): Program {
  const [program, ...args] = command;
  const process = new Deno.Command(program!, {
    args,
    cwd: image.workdir,
    env: { ...imageEnvironment(image), ...env },
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let output = "";
  const collecting = (async () => {
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) output += text;
  })();
  return {
    output: () => output,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      const { code } = await inTime("the program has ended", process.status);
      await collecting;
      assert.equal(code, 0);
    },
  };
}

Deno.test("container files: use the same Deno as the rest of the project", async () => {
  const files = ["Containerfile", SANDBOX_FILE, ".ci/run", "README.md", "CONTRIBUTING.md"];
  const guide = await readProjectFile("docs/production.md");
  const versions = new Set([guide.match(/Install Deno (\d+\.\d+\.\d+)/)![1]]);
  for (const file of files) {
    const found = [...(await readProjectFile(file)).matchAll(/\bdeno[@:](\d+\.\d+\.\d+)/g)];
    assert.ok(found.length > 0, file);
    for (const [, version] of found) versions.add(version!);
  }
  assert.deepEqual([...versions], [Deno.version.deno]);
});

Deno.test("container files: every copied path exists, and .dockerignore includes exactly these paths", async () => {
  const copied = [...service.copied, ...sandbox.copied].map((name) => name.replace(/\/$/, ""));
  for (const name of copied) await Deno.stat(join(PROJECT, name));
  assert.deepEqual([...new Set(copied)].sort(), (await includedPaths()).sort());
});

Deno.test("sandbox image: runs alone without network, and accepts the options of the sandbox", async () => {
  await using program = run(
    sandbox,
    [...sandbox.command, ...sandbox.args, "--port", "0", "--seed", "1"],
    { HTTPS_PROXY: "http://127.0.0.1:2", HOME: "/nonexistent" },
  );
  await until("the sandbox runs", () => program.output().includes("Sandbox running"));
  assert.match(program.output(), /State file +none \(memory only\)/);
});

Deno.test("compose.yaml: names existing files, volumes and settings, and PostgreSQL 18", async () => {
  const { services, volumes } = compose;
  assert.deepEqual(Object.keys(services), ["database", "sandbox", "service"]);
  assert.match(services.database.image, /\/postgres:18$/);
  for (const { build, volumes: mounts, depends_on = [] } of [services.sandbox, services.service]) {
    await Deno.stat(join(PROJECT, build.context, build.dockerfile));
    for (const mount of mounts) {
      const [source] = mount.split(":");
      if (source.startsWith(".")) await Deno.stat(join(PROJECT, source));
      else assert.ok(source in volumes, source);
    }
    for (const name of depends_on) assert.ok(name in services, name);
  }
  for (const name of Object.keys(services.service.environment)) {
    assert.ok((SETTING_NAMES as string[]).includes(name), name);
  }
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services.database.environment;
  assert.equal(
    services.service.environment.DATABASE_URL,
    `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@database:5432/${POSTGRES_DB}`,
  );
  // The service shares the network of the sandbox, whose container publishes the ports of both.
  assert.equal(services.service.network_mode, "service:sandbox");
  for (const port of services.sandbox.ports) assert.match(port, /^127\.0\.0\.1:(\d+):\1$/);
});

Deno.test("compose.yaml: its start scripts have the command lines of the images", async () => {
  const script = (await readProjectFile("deploy/compose.sh")).replaceAll(/\\\n\s*/g, "");
  assert.ok(script.includes(sandbox.command.join(" ")));
  const [, , start] = service.command;
  assert.ok(start!.includes("deno run -q --cached-only -P=prepare main.ts prepare"));
  assert.ok(start!.includes("deno run --cached-only --no-prompt $flags main.ts"));
  for (const part of [/flags=\$\([^)]*\)/, /deno run --cached-only --no-prompt \$flags main\.ts/]) {
    assert.equal(script.match(part)![0], start!.match(part)![0]);
  }
});

Deno.test("compose.yaml: only the first start prints the key, and a payment with this key becomes paid", async () => {
  const ports = { PORT: String(freePort()), SANDBOX_PORT: "0" };
  const script = join(PROJECT, "deploy/compose.sh");
  const start = () => run(sandbox, ["sh", script, "sandbox"], ports);
  // Both containers use this folder, which is the volume `data`.
  const data = join(sandbox.workdir, ".data");
  await Deno.symlink(data, join(service.workdir, ".data"));
  let key = "";
  {
    await using first = start();
    await until("the sandbox runs", () => first.output().includes("Sandbox running"));
    key = first.output().match(/staff +(gk_\S+)/)![1]!;
    assert.match(first.output(), new RegExp(`curl http://127.0.0.1:8000/charge/ .*${key}`));
  }
  await using second = start();
  await until("the sandbox runs", () => second.output().includes("Sandbox running"));
  assert.doesNotMatch(second.output(), /gk_/);
  const sandboxUrl = second.output().match(/API +(http:[^\s]+)\//)![1]!;

  const { environment } = compose.services.service;
  await using running = await startService({
    cwd: service.workdir,
    command: ["sh", script, "service"],
    settings: {
      ...imageEnvironment(service),
      ...environment,
      HOST: "127.0.0.1",
      PORT: ports.PORT,
      GATEWAY_BASE_URL: sandboxUrl,
      DATABASE_URL: await createDatabase({ template: null }),
    },
  });
  const charged = await callService(`${running.url}/charge/`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 }),
  });
  assert.equal(charged.status, 201);
  const { id, order_id } = PaymentSchema.parse(await charged.json());
  const { code } = await new Deno.Command("curl", {
    args: ["-sSf", "-X", "POST", `${sandboxUrl}/_sandbox/transactions/${order_id}/pay`],
    stdout: "null",
  }).output();
  assert.equal(code, 0);
  await until("the payment is paid", async () => {
    const { text } = await running.get(`/payments/${id}/`, key);
    return PaymentSchema.parse(JSON.parse(text)).transaction_status === "settlement";
  });
});
