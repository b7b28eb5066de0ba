/**
 * Several instances of the service: processes on one database and one gateway, behind nginx with
 * the configuration in `deploy/`.
 */

import { join } from "node:path";
import { callService } from "./client.ts";
import { startUntilUp } from "./crash/start_until_up.ts";
import { freePort } from "./free_port.ts";
import { runNginx } from "./nginx.ts";
import { PROJECT } from "./project.ts";
import type { ServiceProcess } from "./service.ts";
import { until } from "./until.ts";

export interface InstancesOptions {
  count: number;
  databaseUrl: string;
  gatewayUrl: string;
  serverKey: string;
  /** More settings of each instance. */
  settings?: Record<string, string>;
  /** Without nginx, callers use the `url` of each instance. */
  hasNginx?: boolean;
}

export interface Instances extends AsyncDisposable {
  /** The URL of nginx; without nginx, that of the first instance. */
  url: string;
  instances: Instance[];
  /** Stops and starts the instances one after the other, as an upgrade does. */
  rollingUpgrade(): Promise<void>;
}

/** An instance that always listens on the same port. */
export interface Instance {
  url: string;
  /** Waits until the instance responds. */
  start(): Promise<void>;
  /** Sends SIGTERM, and waits until the process has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL, and waits until the process has ended. */
  kill(): Promise<void>;
  /** Stops the process (SIGSTOP) without ending it, as an overloaded machine can. */
  pause(): void;
  /** Continues a paused process. */
  resume(): void;
  /** What the current process has printed; empty if none runs. */
  output(): string;
}

export async function startInstances(options: InstancesOptions): Promise<Instances> {
  const { count, hasNginx = true } = options;
  await using started = new AsyncDisposableStack();
  const instances: Instance[] = [];
  for (let index = 0; index < count; index++) {
    const instance = createInstance(options);
    started.defer(instance.end);
    // One after the other: the first one migrates the database.
    await instance.start();
    instances.push(instance);
  }
  const port = freePort();
  if (hasNginx) started.use(await runNginx(await upstreamOf(instances, port), port, 2));
  const owned = started.move();
  return {
    url: hasNginx ? `http://127.0.0.1:${port}` : instances[0]!.url,
    instances,
    async rollingUpgrade() {
      for (const instance of instances) {
        await instance.stop();
        await instance.start();
        await until("the instance is ready", async () => {
          const response = await callService(`${instance.url}/health/ready/`);
          await response.body?.cancel();
          return response.ok;
        });
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function createInstance(options: InstancesOptions): Instance & { end(): Promise<void> } {
  const port = freePort();
  const settings = {
    HOST: "127.0.0.1",
    PORT: String(port),
    // The default. nginx's times are shorter.
    DRAIN_SECONDS: "3",
    TRUST_PROXY: "127.0.0.1",
    DATABASE_URL: options.databaseUrl,
    GATEWAY_BASE_URL: options.gatewayUrl,
    GATEWAY_SERVER_KEY: options.serverKey,
    ...options.settings,
  };
  let service: ServiceProcess | null = null;

  async function end(...signals: Deno.Signal[]): Promise<void> {
    const ending = service;
    service = null;
    for (const signal of signals) ending?.signal(signal);
    await ending?.ended;
  }

  return {
    url: `http://127.0.0.1:${port}`,
    async start() {
      service = await startUntilUp(settings);
    },
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    pause: () => service?.signal("SIGSTOP"),
    resume: () => service?.signal("SIGCONT"),
    output: () => service?.output() ?? "",
    // A paused process handles no other signal.
    end: () => end("SIGKILL"),
  };
}

/** The configuration in `deploy/`, with the ports of these instances and without TLS. */
async function upstreamOf(instances: Instance[], port: number): Promise<string> {
  const text = await Deno.readTextFile(join(PROJECT, "deploy/nginx-instances.conf"));
  const servers = /( +server )127\.0\.0\.1:8001( .*;\n)(?: +server .*;\n)*/g;
  return text
    .replace(
      servers,
      (_, before, after) => instances.map(({ url }) => before + new URL(url).host + after).join(""),
    )
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replace(/ +ssl_certificate.*;\n/g, "")
    .replaceAll("/var/log/nginx/error.log", "/dev/null");
}
