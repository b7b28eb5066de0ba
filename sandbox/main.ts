/** `deno task sandbox`: runs the emulated gateway on its own. */

import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { DEFAULT_KEYS, startSandbox, StateFileError } from "./sandbox.ts";

const USAGE = `Emulator of the Midtrans Core API and of Snap. It moves no money.

  --port 8001         port to listen on; 0 picks a free port
  --host 127.0.0.1    address to listen on
  --notify URL        webhook URL
  --server-key KEY    default: ${DEFAULT_KEYS.server}
  --client-key KEY    default: ${DEFAULT_KEYS.client}
  --data FILE         state file, below .data/; default: .data/sandbox.sqlite
  --memory            keep the state in memory only
  --seed NUMBER       the same seed gives the same ids and numbers
  --speed NUMBER      sandbox seconds per real second; default: 1
  --public-url URL    URL that browsers use, if it differs from the listening address
  --metadata-in-status
                      return the merchant's metadata in status responses
  --help              show this text`;

class UsageError extends Error {
  override name = "UsageError";
}

try {
  const options = readOptions(Deno.args);
  if (options === null) console.log(USAGE);
  else await run(options);
} catch (error) {
  console.error(describeError(error));
  Deno.exit(1);
}

async function run(options: NonNullable<ReturnType<typeof readOptions>>): Promise<void> {
  if (options.path !== null) await Deno.mkdir(dirname(options.path), { recursive: true });
  const sandbox = await startSandbox(options);
  if (options.notify) sandbox.notify(options.notify);
  // Registered before the message is printed: a program that waits for the message may then stop
  // the sandbox at once.
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, stop);
  }
  console.log(`
  Sandbox running

  API           ${sandbox.url}/   (open in a browser for the dashboard)
  Server key    ${options.serverKey}
  Client key    ${options.clientKey}
  Webhooks to   ${sandbox.notifiedUrl() ?? "not set: use --notify or the dashboard"}
  State file    ${options.path ?? "none (memory only)"}

  Press Ctrl-C to stop.
`);
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
      data: { type: "string", default: ".data/sandbox.sqlite" },
      memory: { type: "boolean", default: false },
      seed: { type: "string" },
      speed: { type: "string", default: "1" },
      "public-url": { type: "string" },
      "metadata-in-status": { type: "boolean" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const notify = values.notify === undefined ? undefined : parseUrl("notify", values.notify);
  return {
    port: parseNumber("port", values.port, 0, 65_535),
    hostname: values.host,
    serverKey: parseKey("server-key", values["server-key"]),
    clientKey: parseKey("client-key", values["client-key"]),
    path: values.memory ? null : values.data,
    seed: values.seed === undefined ? undefined : parseNumber("seed", values.seed, 0, 2 ** 32 - 1),
    speed: parseNumber("speed", values.speed, 1, 1_000_000),
    publicUrl: values["public-url"] && parseBaseUrl("public-url", values["public-url"]),
    // Without the option, the stored setting applies.
    settings: values["metadata-in-status"] ? { metadata_in_status: true } : {},
    notify,
  };
}

function parseNumber(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${name} must be a whole number from ${min} to ${max}`);
}

function parseUrl(name: string, text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new UsageError(`--${name} must be an http or https URL`);
}

/** Removes slashes at the end, because paths are appended to the result. */
function parseBaseUrl(name: string, text: string): string {
  const url = new URL(parseUrl(name, text));
  if (url.href === url.origin + url.pathname) return url.href.replace(/\/+$/, "");
  throw new UsageError(`--${name} must be a URL without user, query and fragment`);
}

function parseKey(name: string, text: string): string {
  if (/^[\x21-\x39\x3b-\x7e]+$/.test(text)) return text;
  throw new UsageError(`--${name} must not contain spaces or colons`);
}

function describeError(error: unknown): unknown {
  if (error instanceof UsageError || error instanceof StateFileError) return error.message;
  if (error instanceof Deno.errors.AddrInUse) {
    return "The port is already in use. Choose another with --port.";
  }
  if (error instanceof Deno.errors.AddrNotAvailable || /dns|lookup/i.test(String(error))) {
    return "This machine does not have that address. Choose another with --host.";
  }
  if (error instanceof Deno.errors.NotCapable) {
    return `The task does not have this permission: ${error.message.split(",")[0]}. ` +
      "Choose a file below .data/ with --data, or use --memory.";
  }
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("ERR_PARSE_ARGS") && error instanceof Error
    ? `${error.message}\n\n${USAGE}`
    : error;
}
