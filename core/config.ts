/** The settings: one schema for parsing them, for what is said when they are wrong, and for the guide. */

import { isIP } from "node:net";
import { resolve } from "node:path";
import { z } from "zod";
import { type AddressList, parseAddressList } from "./address_list.ts";
import { API_KEY_SHAPE } from "./auth/api_key.ts";

/** The sandbox's keys are public knowledge, so they must never guard anything real. */
export const SANDBOX_SERVER_KEY = "SB-Mid-server-sandbox";
export const SANDBOX_CLIENT_KEY = "SB-Mid-client-sandbox";

/** Where the gateway itself lives. */
const GATEWAY_URLS = {
  sandbox: "https://api.sandbox.midtrans.com",
  production: "https://api.midtrans.com",
};

const DEFAULT_PORT = 8000;
const DEFAULT_SANDBOX_PORT = 8001;

/** Every channel that an invoice's page can offer. */
const INVOICE_PAYMENTS = [
  "credit_card",
  "bca_va",
  "bni_va",
  "bri_va",
  "permata_va",
  "cimb_va",
  "echannel",
  "other_va",
  "gopay",
  "shopeepay",
  "other_qris",
  "indomaret",
  "alfamart",
  "akulaku",
  "kredivo",
];

const DAYS = "must be a number of days, 1 to 36500";

const GATEWAY_KEY_SHAPE = /^[\x21-\x7e]+$/;

interface About {
  description: string;
  /** What holds where the setting is left out, in words for the guide. */
  default: string;
  example: string;
}

/** A setting: text from the environment, and what is said where `parse` makes nothing of it. */
function setting<T>(about: About, problem: string, parse: (text: string) => T | undefined) {
  return z.string().transform((text, context) => {
    const value = text.trim() === "" ? undefined : parse(text);
    if (value !== undefined) return value;
    const message = text.trim() === "" ? "is set but empty; give it a value or unset it" : problem;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }).optional().meta({ ...about });
}

const SETTINGS = z.object({
  PORT: setting(
    { description: "Port to listen on; 0 takes any free one", default: "`8000`", example: "8000" },
    "must be a port number, 0 to 65535",
    wholeNumber(0, 65_535),
  ),
  HOST: setting(
    {
      description: "Address to listen on; the embedded default takes loopback addresses only",
      default: "`127.0.0.1` in the embedded default, else `0.0.0.0`",
      example: "0.0.0.0",
    },
    "must be an IP address or localhost",
    (text) => isIP(text) || text === "localhost" ? text : undefined,
  ),
  BASE_PATH: setting(
    { description: "Prefix under which all paths are mounted", default: "none", example: "/pay" },
    "must be a path such as /pay, with no slash at its end",
    matching(/^(\/[\w.~-]+)+$/),
  ),
  DATA_DIR: setting(
    {
      description: "Folder of the embedded database, the sandbox and the development keys",
      default: "`.data`",
      example: "/var/lib/pay",
    },
    "must be a path of letters, digits and . _ - ~ @ +",
    matching(/^[\w./~@+-]+$/),
  ),
  DATABASE_URL: setting(
    {
      description: "PostgreSQL 15 or newer to use instead of the embedded one; secret",
      default: "embedded PostgreSQL 18",
      example: "postgres://user:password@host:5432/database",
    },
    "must be a postgres:// URL with host and database; sslmode can be disable, require or verify-full",
    url((address) =>
      /^postgres(ql)?:$/.test(address.protocol) && address.pathname.length > 1 &&
      isKnownSslMode(address)
    ),
  ),
  DATABASE_POOL_SIZE: setting(
    { description: "Connections to the database at most", default: "`10`", example: "10" },
    "must be a whole number, 1 to 1000",
    wholeNumber(1, 1_000),
  ),
  GATEWAY_SERVER_KEY: setting(
    {
      description: "Server key of the gateway account; secret; needed with `DATABASE_URL`",
      default: "none: without both it is the embedded default",
      example: "Mid-server-…",
    },
    "must be a key without spaces",
    matching(GATEWAY_KEY_SHAPE),
  ),
  GATEWAY_CLIENT_KEY: setting(
    {
      description: "Client key of the gateway account; only card tokens made here need it",
      default: "none",
      example: "Mid-client-…",
    },
    "must be a key without spaces",
    matching(GATEWAY_KEY_SHAPE),
  ),
  GATEWAY_ENV: setting(
    {
      description: "The gateway's own `sandbox` or its `production`",
      default: "`sandbox`",
      example: "production",
    },
    "must be sandbox or production",
    (text) => text === "sandbox" || text === "production" ? text : undefined,
  ),
  GATEWAY_BASE_URL: setting(
    {
      description: "Address of the gateway, where it is neither of the two",
      default: "by `GATEWAY_ENV`",
      example: "https://gateway.example.com",
    },
    "must be an https:// URL (http:// only for this machine), without user, query and fragment",
    baseUrl,
  ),
  GATEWAY_MAX_IN_FLIGHT: setting(
    {
      description: "Calls to the gateway at once, at most, on each instance; others wait",
      default: "`50`",
      example: "50",
    },
    "must be a whole number, 1 to 10000",
    wholeNumber(1, 10_000),
  ),
  SANDBOX_PORT: setting(
    {
      description: "Port of the emulated gateway of the embedded default; 0 takes any free one",
      default: "`8001`",
      example: "8001",
    },
    "must be a port number, 0 to 65535",
    wholeNumber(0, 65_535),
  ),
  NOTIFICATION_CONFIRM: setting(
    {
      description: "When the gateway is asked before a notification is believed: only where it " +
        "does not quite `fit`, or also before anything counts as `paid`",
      default: "`fit`",
      example: "paid",
    },
    "must be fit or paid",
    (text) => text === "fit" || text === "paid" ? text : undefined,
  ),
  INVOICE_PAYMENTS: setting(
    {
      description: "By which channels invoices can be paid, by the gateway's names, with commas",
      default: "all of them",
      example: "bca_va,gopay",
    },
    "must be names such as bca_va,gopay",
    (text) => /^[a-z0-9_]+(,[a-z0-9_]+)*$/.test(text) ? text.split(",") : undefined,
  ),
  QUEUE: setting(
    {
      description:
        "What brings jobs to their workers: `kv` on one machine, `postgres` on any number",
      default: "`kv` in the embedded default, else `postgres`",
      example: "kv",
    },
    "must be kv or postgres",
    (text) => text === "kv" || text === "postgres" ? text : undefined,
  ),
  KEEP_JOBS_DAYS: setting(
    { description: "How long finished jobs are kept", default: "`30`", example: "7" },
    DAYS,
    wholeNumber(1, 36_500),
  ),
  KEEP_NOTIFICATIONS_DAYS: setting(
    { description: "How long processed notifications are kept", default: "`400`", example: "90" },
    DAYS,
    wholeNumber(1, 36_500),
  ),
  KEEP_KEYS_DAYS: setting(
    { description: "How long idempotency keys are kept", default: "`1`", example: "7" },
    DAYS,
    wholeNumber(1, 36_500),
  ),
  KEEP_EVENTS_DAYS: setting(
    { description: "How long delivered events are kept", default: "`400`", example: "90" },
    DAYS,
    wholeNumber(1, 36_500),
  ),
  WEBHOOK_ALLOW_PRIVATE: setting(
    {
      description: "`true` lets webhook endpoints be on private networks, and without TLS",
      default: "`true` in the embedded default, else `false`",
      example: "true",
    },
    "must be true or false",
    trueOrFalse,
  ),
  LOG_GATEWAY: setting(
    {
      description: "`true` logs what is said to the gateway and by it, secrets masked",
      default: "`false`",
      example: "true",
    },
    "must be true or false",
    trueOrFalse,
  ),
  AUTH_JWKS_URL: setting(
    {
      description: "Accept JWTs signed by a key of this JWK set",
      default: "no such JWTs",
      example: "https://id.example.com/.well-known/jwks.json",
    },
    "must be an https:// URL (http:// only for this machine)",
    url(isPrivateLine),
  ),
  AUTH_JWT_SECRET: setting(
    {
      description: "Accept JWTs signed with this shared secret (HS256, HS384, HS512); secret",
      default: "no such JWTs",
      example: "32 or more random characters",
    },
    "must have at least 32 characters",
    (text) => text.length >= 32 ? text : undefined,
  ),
  AUTH_JWT_ISSUER: setting(
    {
      description: "The `iss` that JWTs have to bear",
      default: "none; needed for JWTs",
      example: "https://id.example.com/",
    },
    "must be text",
    String,
  ),
  AUTH_JWT_AUDIENCE: setting(
    {
      description: "The `aud` that JWTs have to bear",
      default: "none; needed for JWTs",
      example: "payments",
    },
    "must be text",
    String,
  ),
  AUTH_STAFF_CLAIM: setting(
    {
      description: "The claim whose value `true` makes a JWT's user staff",
      default: "JWTs are never staff",
      example: "staff",
    },
    "must be text",
    String,
  ),
  BOOTSTRAP_STAFF_KEY: setting(
    {
      description: "An API key that is made sure to exist, for staff; secret",
      default: "none",
      example: "gk_ and 43 characters: 32 random bytes in base64url",
    },
    "must be gk_ and the 43 base64url characters of 32 random bytes",
    matching(API_KEY_SHAPE),
  ),
  RATE_LIMIT_PER_SECOND: setting(
    {
      description: "Requests a second for each caller, on each instance",
      default: "`100`",
      example: "100",
    },
    "must be a whole number, 1 to 1000000",
    wholeNumber(1, 1_000_000),
  ),
  RATE_LIMIT_BURST: setting(
    { description: "Requests a caller may send at once", default: "`200`", example: "200" },
    "must be a whole number, 1 to 1000000",
    wholeNumber(1, 1_000_000),
  ),
  TRUST_PROXY: setting(
    {
      description: "Proxies whose `X-Forwarded-For` is believed: addresses and networks",
      default: "none",
      example: "127.0.0.1, 10.0.0.0/8",
    },
    "must be a list of IP addresses and networks",
    (text) => parseAddressList(text) ?? undefined,
  ),
  DRAIN_SECONDS: setting(
    {
      description: "At the end, how long `/health/ready/` says 503 before connections are refused",
      default: "`0` in the embedded default, else `3`",
      example: "5",
    },
    "must be a whole number, 0 to 300",
    wholeNumber(0, 300),
  ),
});

type Settings = z.output<typeof SETTINGS>;
export type SettingName = keyof Settings;

export const SETTING_NAMES = Object.keys(SETTINGS.shape) as SettingName[];

/** What brings jobs to their workers. */
export type Queue = "kv" | "postgres";

export interface Keep {
  jobs: number;
  notifications: number;
  keys: number;
  events: number;
}

export interface Config {
  port: number;
  host: string;
  basePath: string;
  dataDir: string;
  /** Null: the embedded server. */
  databaseUrl: string | null;
  databasePoolSize: number;
  /**
   * Neither a database nor a gateway of the integrator's own: somebody is trying the service out on
   * this machine. Development keys and conveniences exist and count only here.
   */
  isEmbeddedDefault: boolean;
  gateway: GatewayConfig;
  /** Null: there is no emulated gateway. */
  sandboxPort: number | null;
  logGateway: boolean;
  /** Whether webhook endpoints may be where only we can reach them. */
  webhookAllowPrivate: boolean;
  notificationConfirm: "fit" | "paid";
  /** By which channels invoices can be paid, as the gateway calls them. */
  invoicePayments: readonly string[];
  queue: Queue;
  /** For how many days what is over is kept. */
  keep: Keep;
  jwt: JwtConfig | null;
  bootstrapStaffKey: string | null;
  rateLimit: { perSecond: number; burst: number };
  trustedProxies: AddressList | null;
  drainSeconds: number;
}

export interface GatewayConfig {
  /** Without a slash at its end. */
  baseUrl: string;
  serverKey: string;
  clientKey: string | null;
  maxInFlight: number;
}

export interface JwtConfig {
  trust: { jwksUrl: string } | { secret: string };
  issuer: string;
  audience: string;
  staffClaim: string | null;
}

interface ConfigProblem {
  name: SettingName;
  problem: string;
  /** None where the value is good in itself, and may well be the example's. */
  hasExample: boolean;
}

export class ConfigError extends Error {
  override name = "ConfigError";

  constructor(readonly problems: ConfigProblem[]) {
    const width = Math.max(...problems.map(({ name }) => name.length));
    // Values are never shown: a secret may have landed in the wrong variable.
    super([
      problems.length === 1 ? "One setting is wrong:" : `${problems.length} settings are wrong:`,
      ...problems.map(({ name, problem, hasExample }) =>
        `  ${name.padEnd(width)}  ${problem}${
          hasExample ? ` (example: ${about(name).example})` : ""
        }`
      ),
    ].join("\n"));
  }
}

/** Reads the settings; relative paths start at `folder`. Throws a `ConfigError` naming all that is wrong. */
export function parseConfig(
  env: Partial<Record<SettingName, string>>,
  folder: string,
): Config {
  const parsed = SETTINGS.safeParse(env);
  const problems: ConfigProblem[] = (parsed.error?.issues ?? []).map((issue) => ({
    name: issue.path[0] as SettingName,
    problem: issue.message,
    hasExample: true,
  }));
  const wrong = new Set(problems.map(({ name }) => name));
  problems.push(...findConflicts(env).filter(({ name }) => !wrong.has(name)));
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);

  const settings = parsed.data;
  const isEmbeddedDefault = !settings.DATABASE_URL && !settings.GATEWAY_SERVER_KEY;
  return {
    port: settings.PORT ?? DEFAULT_PORT,
    host: settings.HOST ?? (isEmbeddedDefault ? "127.0.0.1" : "0.0.0.0"),
    basePath: settings.BASE_PATH ?? "",
    dataDir: resolve(folder, settings.DATA_DIR ?? ".data"),
    databaseUrl: settings.DATABASE_URL ?? null,
    databasePoolSize: settings.DATABASE_POOL_SIZE ?? 10,
    isEmbeddedDefault,
    gateway: gatewayConfig(settings),
    sandboxPort: isEmbeddedDefault ? settings.SANDBOX_PORT ?? DEFAULT_SANDBOX_PORT : null,
    logGateway: settings.LOG_GATEWAY ?? false,
    webhookAllowPrivate: settings.WEBHOOK_ALLOW_PRIVATE ?? isEmbeddedDefault,
    notificationConfirm: settings.NOTIFICATION_CONFIRM ?? "fit",
    invoicePayments: settings.INVOICE_PAYMENTS ?? INVOICE_PAYMENTS,
    queue: settings.QUEUE ?? (settings.DATABASE_URL === undefined ? "kv" : "postgres"),
    keep: {
      jobs: settings.KEEP_JOBS_DAYS ?? 30,
      notifications: settings.KEEP_NOTIFICATIONS_DAYS ?? 400,
      keys: settings.KEEP_KEYS_DAYS ?? 1,
      events: settings.KEEP_EVENTS_DAYS ?? 400,
    },
    jwt: jwtConfig(settings),
    bootstrapStaffKey: settings.BOOTSTRAP_STAFF_KEY ?? null,
    rateLimit: {
      perSecond: settings.RATE_LIMIT_PER_SECOND ?? 100,
      burst: settings.RATE_LIMIT_BURST ?? 200,
    },
    trustedProxies: settings.TRUST_PROXY ?? null,
    drainSeconds: settings.DRAIN_SECONDS ?? (isEmbeddedDefault ? 0 : 3),
  };
}

/** The settings as docs/settings.md shows them. */
export function settingsTable(): string {
  const rows = SETTING_NAMES.map((name) =>
    `| \`${name}\` | ${about(name).description} | ${about(name).default} |`
  );
  return ["| variable | what it sets | where left out |", "| --- | --- | --- |", ...rows].join(
    "\n",
  );
}

/** What is wrong with settings that are each right by themselves. */
function findConflicts(env: Partial<Record<SettingName, string>>): ConfigProblem[] {
  const { DATABASE_URL, GATEWAY_SERVER_KEY, HOST, AUTH_JWKS_URL, AUTH_JWT_SECRET } = env;
  const problems: ConfigProblem[] = [];
  const wrong = (name: SettingName, problem: string) =>
    problems.push({ name, problem, hasExample: !env[name] });

  if (DATABASE_URL && !GATEWAY_SERVER_KEY) {
    wrong("GATEWAY_SERVER_KEY", "is missing; DATABASE_URL needs it");
  }
  if (GATEWAY_SERVER_KEY === SANDBOX_SERVER_KEY) {
    wrong(
      "GATEWAY_SERVER_KEY",
      "is the sandbox's, which everybody knows; leave it out to try things",
    );
  }
  for (const name of ["GATEWAY_CLIENT_KEY", "GATEWAY_ENV", "GATEWAY_BASE_URL"] as const) {
    if (!GATEWAY_SERVER_KEY && env[name]) wrong(name, "needs GATEWAY_SERVER_KEY beside it");
  }
  // Not every key of the gateway's sandbox begins with SB-, but none of production does: with one of
  // these every customer would be refused, and the first to notice would be a customer.
  for (const name of ["GATEWAY_SERVER_KEY", "GATEWAY_CLIENT_KEY"] as const) {
    if (env.GATEWAY_ENV === "production" && env[name]?.startsWith("SB-")) {
      wrong(name, "is a sandbox's, which production refuses");
    }
  }
  const isEmbeddedDefault = !DATABASE_URL && !GATEWAY_SERVER_KEY;
  if (!isEmbeddedDefault && env.SANDBOX_PORT) {
    wrong("SANDBOX_PORT", "is for the embedded default only; there is no sandbox to listen on it");
  }
  const { PORT = DEFAULT_PORT, SANDBOX_PORT = DEFAULT_SANDBOX_PORT } = env;
  if (isEmbeddedDefault && Number(PORT) === Number(SANDBOX_PORT) && Number(PORT) !== 0) {
    wrong("SANDBOX_PORT", "has to differ from PORT");
  }
  if (isEmbeddedDefault && HOST && !isLoopback(HOST)) {
    wrong("HOST", "must be of this machine alone without DATABASE_URL and GATEWAY_SERVER_KEY");
  }
  if (AUTH_JWKS_URL && AUTH_JWT_SECRET) {
    wrong("AUTH_JWT_SECRET", "cannot be combined with AUTH_JWKS_URL; set one of them");
  }
  const takesJwt = AUTH_JWKS_URL || AUTH_JWT_SECRET;
  for (const name of ["AUTH_JWT_ISSUER", "AUTH_JWT_AUDIENCE"] as const) {
    if (takesJwt && !env[name]) wrong(name, "is missing; JWTs need it");
  }
  for (const name of ["AUTH_JWT_ISSUER", "AUTH_JWT_AUDIENCE", "AUTH_STAFF_CLAIM"] as const) {
    if (!takesJwt && env[name]) wrong(name, "needs AUTH_JWKS_URL or AUTH_JWT_SECRET beside it");
  }
  return problems;
}

function gatewayConfig(settings: Settings): GatewayConfig {
  const maxInFlight = settings.GATEWAY_MAX_IN_FLIGHT ?? 50;
  if (settings.GATEWAY_SERVER_KEY) {
    return {
      baseUrl: settings.GATEWAY_BASE_URL ?? GATEWAY_URLS[settings.GATEWAY_ENV ?? "sandbox"],
      serverKey: settings.GATEWAY_SERVER_KEY,
      clientKey: settings.GATEWAY_CLIENT_KEY ?? null,
      maxInFlight,
    };
  }
  return {
    baseUrl: `http://127.0.0.1:${settings.SANDBOX_PORT ?? DEFAULT_SANDBOX_PORT}`,
    serverKey: SANDBOX_SERVER_KEY,
    clientKey: SANDBOX_CLIENT_KEY,
    maxInFlight,
  };
}

function jwtConfig(settings: Settings): JwtConfig | null {
  const { AUTH_JWKS_URL, AUTH_JWT_SECRET, AUTH_JWT_ISSUER, AUTH_JWT_AUDIENCE } = settings;
  if (!AUTH_JWT_ISSUER || !AUTH_JWT_AUDIENCE) return null;
  const trust = AUTH_JWKS_URL
    ? { jwksUrl: AUTH_JWKS_URL }
    : AUTH_JWT_SECRET
    ? { secret: AUTH_JWT_SECRET }
    : null;
  return trust && {
    trust,
    issuer: AUTH_JWT_ISSUER,
    audience: AUTH_JWT_AUDIENCE,
    staffClaim: settings.AUTH_STAFF_CLAIM ?? null,
  };
}

function about(name: SettingName): About {
  return SETTINGS.shape[name].meta() as unknown as About;
}

function wholeNumber(least: number, most: number) {
  return (text: string) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    return value >= least && value <= most ? value : undefined;
  };
}

function trueOrFalse(text: string): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}

function matching(shape: RegExp) {
  return (text: string) => shape.test(text) ? text : undefined;
}

function url(accepts: (address: URL) => boolean) {
  return (text: string) => {
    const address = URL.parse(text);
    return address && address.hostname && accepts(address) ? text : undefined;
  };
}

/** Of the others the service's driver and the queue's make different things, or nothing. */
function isKnownSslMode({ searchParams }: URL): boolean {
  return /^(disable|require|verify-full)?$/.test(searchParams.get("sslmode") ?? "");
}

function baseUrl(text: string): string | undefined {
  const address = URL.parse(text);
  if (!address || !isPrivateLine(address)) return undefined;
  // Paths are put behind it, so whatever comes after its own path would end up in the middle.
  const { origin, pathname } = address;
  return address.href === origin + pathname ? (origin + pathname).replace(/\/+$/, "") : undefined;
}

/** Nobody on the way can listen. */
function isPrivateLine({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}
