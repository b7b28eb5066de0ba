/** `deno task sandbox`: the gateway alone, for whoever develops against it. */

import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { DEFAULT_KEYS, JournalError, startSandbox } from "./sandbox.ts";

const USAGE = `The Midtrans Core API, emulated. No money moves here.

  --port 8001         port to listen on; 0 takes any free one
  --host 127.0.0.1    address to listen on
  --notify URL        where webhooks go
  --server-key KEY    unless given: ${DEFAULT_KEYS.server}
  --client-key KEY    unless given: ${DEFAULT_KEYS.client}
  --data FILE         where its state is kept, below .data/; unless given: .data/sandbox.kv
  --memory            keep nothing
  --seed NUMBER       the same seed gives the same ids and numbers
  --speed NUMBER      seconds that pass here in one of yours
  --public-url URL    where browsers find it, if not where it listens
  --help              this`;

/** A mistake of whoever started it, told in one line. */
class WrongUse extends Error {
  override name = "WrongUse";
}

try {
  const options = readOptions(Deno.args);
  if (options === null) console.log(USAGE);
  else await run(options);
} catch (error) {
  console.error(explain(error));
  Deno.exit(1);
}

async function run(options: NonNullable<ReturnType<typeof readOptions>>): Promise<void> {
  if (options.path !== null) await Deno.mkdir(dirname(options.path), { recursive: true });
  const sandbox = await startSandbox(options);
  if (options.notify) sandbox.notify(options.notify);
  console.log(`
  The gateway's sandbox is up

  API           ${sandbox.url}/   and its page, in a browser
  Server key    ${options.serverKey}
  Client key    ${options.clientKey}
  Webhooks to   ${sandbox.notifiedUrl() ?? "nowhere: see --notify, or the page"}
  Kept in       ${options.path ?? "memory"}

  Ctrl-C stops it.
`);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, stop);
  }
  await stopped;
  await sandbox[Symbol.asyncDispose]();
  Deno.exit(0);
}

function readOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: "string", default: "8001" },
      host: { type: "string", default: "127.0.0.1" },
      notify: { type: "string" },
      "server-key": { type: "string", default: DEFAULT_KEYS.server },
      "client-key": { type: "string", default: DEFAULT_KEYS.client },
      data: { type: "string", default: ".data/sandbox.kv" },
      memory: { type: "boolean", default: false },
      seed: { type: "string" },
      speed: { type: "string", default: "1" },
      "public-url": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const notify = values.notify === undefined ? undefined : address("notify", values.notify);
  return {
    port: number("port", values.port, 0, 65_535),
    hostname: values.host,
    serverKey: key("server-key", values["server-key"]),
    clientKey: key("client-key", values["client-key"]),
    path: values.memory ? null : values.data,
    seed: values.seed === undefined ? undefined : number("seed", values.seed, 0, 2 ** 32 - 1),
    speed: number("speed", values.speed, 1, 1_000_000),
    publicUrl: values["public-url"] && baseUrl("public-url", values["public-url"]),
    notify,
  };
}

function number(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw new WrongUse(`--${name} must be a whole number, ${least} to ${most}`);
}

function address(name: string, text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new WrongUse(`--${name} must be an http address`);
}

/** Paths are put behind it. */
function baseUrl(name: string, text: string): string {
  const url = new URL(address(name, text));
  if (url.href === url.origin + url.pathname) return url.href.replace(/\/+$/, "");
  throw new WrongUse(`--${name} must be an address without user, query and fragment`);
}

function key(name: string, text: string): string {
  if (/^[\x21-\x39\x3b-\x7e]+$/.test(text)) return text;
  throw new WrongUse(`--${name} must be a key without spaces and colons`);
}

function explain(error: unknown): unknown {
  if (error instanceof WrongUse || error instanceof JournalError) return error.message;
  if (error instanceof Deno.errors.AddrInUse) return "The port is taken: choose one with --port.";
  if (error instanceof Deno.errors.AddrNotAvailable || /dns|lookup/i.test(String(error))) {
    return "The host is no address of this machine: choose one with --host.";
  }
  if (error instanceof Deno.errors.NotCapable) {
    return `The task does not allow this: ${error.message.split(",")[0]}.`;
  }
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("ERR_PARSE_ARGS") && error instanceof Error
    ? `${error.message}\n\n${USAGE}`
    : error;
}
