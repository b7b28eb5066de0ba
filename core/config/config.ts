/** The configuration of the service, built from its settings. */

import { resolve } from "node:path";
import type { AddressList } from "./address_list.ts";
import { withDefaultSslMode } from "./database_url.ts";
import type { SmtpServer } from "./smtp_url.ts";
import { meansDenoDeploy } from "./parsers.ts";
import { ConfigError, type ConfigProblem, findProblems } from "./problems.ts";
import {
  DEFAULT_PORT,
  DEFAULT_SANDBOX_PORT,
  type Environment,
  SANDBOX_CLIENT_KEY,
  SANDBOX_SERVER_KEY,
  type SettingName,
  SETTINGS,
  type Settings,
} from "./settings.ts";

const GATEWAY_URLS = {
  sandbox: "https://api.sandbox.midtrans.com",
  production: "https://api.midtrans.com",
};

/** Every payment method that an invoice's page can offer. */
const ALL_INVOICE_PAYMENTS = [
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

/** The job queue backend. */
export type Queue = "kv" | "postgres";

/** For how many days finished rows and waiting deliveries are kept. */
export interface RetentionDays {
  jobs: number;
  notifications: number;
  keys: number;
  events: number;
  /** The audit trail: requests that changed something, were refused, or exported a file. */
  audit: number;
  /** Comparisons of the gateway's report files with the payments, and the differences found. */
  reconciliations: number;
  /** Pending deliveries to disabled webhook endpoints. */
  deliveries: number;
}

/** When paid payments are checked again. */
export interface RecheckConfig {
  /** After this many minutes, if the bank or store can reverse the payment. */
  minutes: number;
  /** After each of these numbers of days, and after the refund window, if there is one. */
  days: readonly number[];
  /** Cards: every week, for this many days after the payment; 0: no weekly checks. */
  cardDays: number;
  /** The maximum number of checks per minute; 0: paid payments are not checked again. */
  perMinute: number;
}

export interface Config {
  port: number;
  host: string;
  basePath: string;
  /** Without a slash at the end; null: unknown, except in the embedded default. */
  publicUrl: string | null;
  /** How payment pages present the shop. */
  merchant: {
    name: string | null;
    color: string | null;
    /** The path of the file; `readLogo` reads it (`core/config/logo.ts`). */
    logoFile: string | null;
  };
  /** Null: no mail is sent. */
  mail: MailConfig | null;
  dataDir: string;
  /** Null for the embedded server. */
  databaseUrl: string | null;
  /** Null: `databaseUrl` is used for everything. */
  databaseDirectUrl: string | null;
  databasePoolSize: number;
  /**
   * Neither DATABASE_URL nor GATEWAY_SERVER_KEY is set: the service runs on one machine, for
   * development. Development keys are created and accepted only in this mode.
   */
  isEmbeddedDefault: boolean;
  gateway: GatewayConfig;
  /** Null if there is no sandbox. */
  sandboxPort: number | null;
  logGateway: boolean;
  /** Allows webhook endpoints on private networks and without TLS. */
  webhookAllowPrivate: boolean;
  /** The setting NOTIFICATION_CONFIRM (core/config/settings.ts) describes the values. */
  notificationConfirm: "unproven" | "paid";
  /** The gateway's names of the payment methods that invoices offer. */
  invoicePayments: readonly string[];
  queue: Queue;
  keep: RetentionDays;
  recheck: RecheckConfig;
  jwt: JwtConfig | null;
  bootstrapStaffKey: string | null;
  rateLimit: { perSecond: number; burst: number };
  /** Whether the limits of callers and streams are those of all instances together. */
  sharedLimits: boolean;
  /** How many event streams may be open. */
  streams: { perCaller: number; total: number };
  /** A token for reading `GET /metrics`; null: only staff and viewer credentials can read it. */
  metricsToken: string | null;
  /** A file whose time of modification is the time of the last backup; null: not known. */
  backupTimeFile: string | null;
  trustedProxies: AddressList | null;
  drainSeconds: number;
  /** Deno Deploy sets the address to listen on, and kills an instance 5 s after the stop signal. */
  isDenoDeploy: boolean;
  /** Id of the running build, such as a commit; null if it is not known. */
  build: string | null;
}

export interface MailConfig {
  server: SmtpServer;
  /** An address, or a name and an address in angle brackets. */
  from: string;
  /** Who gets mails about what needs attention. */
  attentionTo: readonly string[];
  /** Whether customers get receipts. */
  hasReceipts: boolean;
}

export interface GatewayConfig {
  /** `embedded`: the sandbox that the service starts. */
  environment: "embedded" | "sandbox" | "production";
  /** Without a trailing slash. */
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
  viewerClaim: string | null;
}

/**
 * Relative paths are resolved against `folder`. Throws a `ConfigError` that lists every problem.
 */
export function parseConfig(env: Environment, folder: string): Config {
  const parsed = SETTINGS.safeParse(env);
  const problems: ConfigProblem[] = (parsed.error?.issues ?? []).map((issue) => ({
    name: issue.path[0] as SettingName,
    problem: issue.message,
    hasExample: true,
  }));
  const invalid = new Set(problems.map(({ name }) => name));
  problems.push(...findProblems(env).filter(({ name }) => !invalid.has(name)));
  if (!parsed.success || problems.length > 0) {
    throw new ConfigError(problems, meansDenoDeploy(env.DENO_DEPLOY));
  }

  const settings = parsed.data;
  const isEmbeddedDefault = !settings.DATABASE_URL && !settings.GATEWAY_SERVER_KEY;
  const isDenoDeploy = settings.DENO_DEPLOY ?? false;
  return {
    port: settings.PORT ?? DEFAULT_PORT,
    host: settings.HOST ?? (isEmbeddedDefault ? "127.0.0.1" : "0.0.0.0"),
    basePath: settings.BASE_PATH ?? "",
    publicUrl: settings.PUBLIC_URL ?? null,
    merchant: merchantConfig(settings, folder),
    mail: mailConfig(settings),
    dataDir: resolve(folder, settings.DATA_DIR ?? ".data"),
    databaseUrl: withSslMode(settings, settings.DATABASE_URL),
    databaseDirectUrl: withSslMode(settings, settings.DATABASE_DIRECT_URL),
    databasePoolSize: settings.DATABASE_POOL_SIZE ?? (isDenoDeploy ? 1 : 10),
    isEmbeddedDefault,
    gateway: gatewayConfig(settings),
    sandboxPort: isEmbeddedDefault ? settings.SANDBOX_PORT ?? DEFAULT_SANDBOX_PORT : null,
    logGateway: settings.LOG_GATEWAY ?? false,
    webhookAllowPrivate: settings.WEBHOOK_ALLOW_PRIVATE ?? isEmbeddedDefault,
    notificationConfirm: settings.NOTIFICATION_CONFIRM ?? "unproven",
    invoicePayments: settings.INVOICE_PAYMENTS ?? ALL_INVOICE_PAYMENTS,
    queue: settings.QUEUE ?? (settings.DATABASE_URL === undefined ? "kv" : "postgres"),
    keep: {
      jobs: settings.KEEP_JOBS_DAYS ?? 30,
      notifications: settings.KEEP_NOTIFICATIONS_DAYS ?? 400,
      keys: settings.KEEP_KEYS_DAYS ?? 1,
      events: settings.KEEP_EVENTS_DAYS ?? 400,
      audit: settings.KEEP_AUDIT_DAYS ?? 400,
      reconciliations: settings.KEEP_RECONCILIATIONS_DAYS ?? 400,
      deliveries: settings.KEEP_HELD_DELIVERIES_DAYS ?? settings.KEEP_EVENTS_DAYS ?? 400,
    },
    recheck: {
      minutes: settings.RECHECK_MINUTES ?? 10,
      days: settings.RECHECK_DAYS ?? [1, 7],
      cardDays: settings.RECHECK_CARD_DAYS ?? 120,
      perMinute: settings.RECHECK_PER_MINUTE ?? 600,
    },
    jwt: jwtConfig(settings),
    bootstrapStaffKey: settings.BOOTSTRAP_STAFF_KEY ?? null,
    ...limitsOf(settings),
    metricsToken: settings.METRICS_TOKEN ?? null,
    backupTimeFile: settings.BACKUP_TIME_FILE === undefined
      ? null
      : resolve(folder, settings.BACKUP_TIME_FILE),
    trustedProxies: settings.TRUST_PROXY ?? null,
    drainSeconds: settings.DRAIN_SECONDS ?? (isEmbeddedDefault || isDenoDeploy ? 0 : 3),
    isDenoDeploy,
    build: settings.BUILD ?? settings.DENO_DEPLOY_BUILD_ID ?? null,
  };
}

function limitsOf(settings: Settings): Pick<Config, "rateLimit" | "streams" | "sharedLimits"> {
  return {
    rateLimit: {
      perSecond: settings.RATE_LIMIT_PER_SECOND ?? 100,
      burst: settings.RATE_LIMIT_BURST ?? 200,
    },
    streams: {
      perCaller: settings.STREAMS_PER_CALLER ?? 100,
      total: settings.STREAMS_TOTAL ?? 1_000,
    },
    sharedLimits: settings.SHARED_LIMITS ?? false,
  };
}

/**
 * Adds `sslmode` to a URL without it. The URL that Deno Deploy sets has none, even if the database
 * is reached over the internet.
 */
function withSslMode(
  { PGSSLMODE, DENO_DEPLOY }: Settings,
  url: string | undefined,
): string | null {
  if (url === undefined) return null;
  const mode = PGSSLMODE ?? (DENO_DEPLOY ? "prefer" : null);
  return mode === null ? url : withDefaultSslMode(url, mode);
}

function merchantConfig(
  { MERCHANT_NAME, MERCHANT_COLOR, MERCHANT_LOGO }: Settings,
  folder: string,
): Config["merchant"] {
  return {
    name: MERCHANT_NAME ?? null,
    color: MERCHANT_COLOR ?? null,
    logoFile: MERCHANT_LOGO === undefined ? null : resolve(folder, MERCHANT_LOGO),
  };
}

function mailConfig(settings: Settings): MailConfig | null {
  const { SMTP_URL, MAIL_FROM, ATTENTION_EMAIL, RECEIPT_EMAILS } = settings;
  if (!SMTP_URL || !MAIL_FROM) return null;
  return {
    server: SMTP_URL,
    from: MAIL_FROM,
    attentionTo: ATTENTION_EMAIL ?? [],
    hasReceipts: RECEIPT_EMAILS ?? false,
  };
}

function gatewayConfig(settings: Settings): GatewayConfig {
  const maxInFlight = settings.GATEWAY_MAX_IN_FLIGHT ?? 50;
  if (settings.GATEWAY_SERVER_KEY) {
    const environment = settings.GATEWAY_ENV ?? "sandbox";
    return {
      environment,
      baseUrl: settings.GATEWAY_BASE_URL ?? GATEWAY_URLS[environment],
      serverKey: settings.GATEWAY_SERVER_KEY,
      clientKey: settings.GATEWAY_CLIENT_KEY ?? null,
      maxInFlight,
    };
  }
  return {
    environment: "embedded",
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
    viewerClaim: settings.AUTH_VIEWER_CLAIM ?? null,
  };
}
