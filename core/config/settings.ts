/** The table of settings: how each is parsed, its error text and its documentation. */

import { isIP } from "node:net";
import { z } from "zod";
import { parseAddressList } from "./address_list.ts";
import { API_KEY_PATTERN } from "../secrets/api_key.ts";
import { parseSmtpUrl, SMTP_URL_PROBLEM } from "./smtp_url.ts";
import { explainDatabaseUrl, parseDatabaseUrl, parseSslMode } from "./database_url.ts";
import {
  baseUrl,
  isEncryptedOrLoopback,
  matching,
  meansDenoDeploy,
  parseAddresses,
  url,
  wholeNumber,
  wholeNumbers,
} from "./parsers.ts";
import { booleanSetting, daysSetting, setting, type SettingInfo, textSetting } from "./setting.ts";

export const DEFAULT_PORT = 8000;
export const DEFAULT_SANDBOX_PORT = 8001;

/** The sandbox's keys are public knowledge, so they must never protect real payments. */
export const SANDBOX_SERVER_KEY = "SB-Mid-server-sandbox";
export const SANDBOX_CLIENT_KEY = "SB-Mid-client-sandbox";

const GATEWAY_KEY_PATTERN = /^[\x21-\x7e]+$/;

/** Paths become permission flags (`commands/prepare.ts`), which the shell splits at spaces. */
const PATH_PATTERN = /^[\w./~@+-]+$/;
const PATH_PROBLEM = "must be a path of letters, digits and . _ - ~ @ +";

export const SETTINGS = z.object({
  PORT: setting(
    { description: "Port to listen on; 0 picks a free one", default: "`8000`", example: "8000" },
    "must be a port number, 0 to 65535",
    wholeNumber(0, 65_535),
  ),
  HOST: setting(
    {
      description: "Address to listen on; in the embedded default it must be a loopback address",
      default: "`127.0.0.1` in the embedded default, else `0.0.0.0`",
      example: "0.0.0.0",
    },
    "must be an IP address or localhost",
    (text) => isIP(text) || text === "localhost" ? text : undefined,
  ),
  BASE_PATH: setting(
    { description: "Prefix under which all paths are mounted", default: "none", example: "/pay" },
    "must be a path such as /pay, without a trailing slash",
    matching(/^(\/[\w.~-]+)+$/),
  ),
  PUBLIC_URL: setting(
    {
      description:
        "Where customers and the gateway reach this service, with `BASE_PATH` if it is " +
        "set: links to its payment pages begin with it, and the gateway " +
        "[sends the notifications of charges](production.md#where-the-gateway-sends-notifications) " +
        "to it",
      default: "the service's own address in the embedded default, else none",
      example: "https://pay.shop.example",
    },
    "must be a URL such as https://pay.shop.example, with http only for this machine",
    baseUrl,
  ),
  MERCHANT_NAME: setting(
    {
      description: "The shop's name on its payment pages",
      default: "none",
      example: "Kopi Kita",
    },
    "must be 1 to 60 printable characters",
    matching(/^\P{C}{1,60}$/u),
  ),
  MERCHANT_COLOR: setting(
    {
      description: "The shop's colour on its payment pages",
      default: "blue",
      example: "#0b6e4f",
    },
    "must be a colour such as #0b6e4f",
    matching(/^#[0-9a-fA-F]{6}$/),
  ),
  MERCHANT_LOGO: setting(
    {
      description: "File with the shop's logo for its payment pages: PNG, JPEG, WebP or SVG, at " +
        "most 100 kB",
      default: "none",
      example: "/etc/pay/logo.svg",
    },
    PATH_PROBLEM,
    matching(PATH_PATTERN),
  ),
  SMTP_URL: setting(
    {
      description:
        "URL of the mail server (secret). `smtps://` uses TLS; `smtp://` requires STARTTLS, " +
        "except for a server on this machine, which is used without TLS. Requires `MAIL_FROM`",
      default: "none: no mail is sent",
      example: "smtps://user:password@smtp.shop.example",
    },
    SMTP_URL_PROBLEM,
    parseSmtpUrl,
  ),
  MAIL_FROM: setting(
    {
      description: "Sender of all mails",
      default: "none; required with `SMTP_URL`",
      example: "Kopi Kita <payments@shop.example>",
    },
    "must be an address such as payments@shop.example, or a name and <payments@shop.example>",
    matching(/^(?:[^<>@,;"\p{C}]{1,60} <[^\s<>@,;"]+@[\w.-]+>|[^\s<>@,;"]+@[\w.-]+)$/u),
  ),
  ATTENTION_EMAIL: setting(
    {
      description:
        "Addresses that get a mail when something needs attention, and one when it is over " +
        "(up to 10, separated by commas)",
      default: "none",
      example: "ops@shop.example",
    },
    "must be up to 10 addresses separated by commas, such as ops@shop.example",
    parseAddresses,
  ),
  RECEIPT_EMAILS: booleanSetting({
    description:
      "`true` sends a receipt after each payment and refund to customers whose email address is " +
      "known",
    default: "`false`",
    example: "true",
  }),
  DATA_DIR: setting(
    {
      description: "Folder for the embedded database, the sandbox and the development keys",
      default: "`.data`",
      example: "/var/lib/pay",
    },
    PATH_PROBLEM,
    matching(PATH_PATTERN),
  ),
  DATABASE_URL: setting(
    {
      description:
        "URL of a PostgreSQL server, version 15 or newer, to use instead of the embedded one; can name " +
        "several hosts (secret)",
      default: "embedded PostgreSQL 18",
      example: "postgres://user:password@host:5432/database",
    },
    explainDatabaseUrl,
    parseDatabaseUrl,
  ),
  DATABASE_DIRECT_URL: setting(
    {
      description:
        "URL of the same database without its connection pooler, if `DATABASE_URL` leads to a pooler in " +
        "transaction mode (secret)",
      default: "the value of `DATABASE_URL`",
      example: "postgres://user:password@host:5432/database",
    },
    explainDatabaseUrl,
    parseDatabaseUrl,
  ),
  PGSSLMODE: setting(
    {
      description: "`sslmode` of database connections if `DATABASE_URL` has none: `disable`, " +
        "`prefer`, `require` or `verify-full`",
      default: "`prefer` on Deno Deploy, else `disable`",
      example: "verify-full",
    },
    "must be disable, prefer, require or verify-full",
    parseSslMode,
  ),
  DATABASE_POOL_SIZE: setting(
    {
      description: "Maximum number of connections in the pool",
      default: "`1` on Deno Deploy, else `10`",
      example: "10",
    },
    "must be a whole number, 1 to 1000",
    wholeNumber(1, 1_000),
  ),
  GATEWAY_SERVER_KEY: setting(
    {
      description: "Server key of the gateway account (secret); required with `DATABASE_URL`",
      default: "none; if `DATABASE_URL` is not set either: the embedded default",
      example: "Mid-server-…",
    },
    "must be a key without spaces",
    matching(GATEWAY_KEY_PATTERN),
  ),
  GATEWAY_CLIENT_KEY: setting(
    {
      description:
        "Client key of the gateway account; needed only by an embedding program that creates card tokens",
      default: "none",
      example: "Mid-client-…",
    },
    "must be a key without spaces",
    matching(GATEWAY_KEY_PATTERN),
  ),
  GATEWAY_ENV: setting(
    {
      description: "Environment of the gateway: `sandbox` or `production`",
      default: "`sandbox`",
      example: "production",
    },
    "must be sandbox or production",
    (text) => text === "sandbox" || text === "production" ? text : undefined,
  ),
  GATEWAY_BASE_URL: setting(
    {
      description: "Base URL of the gateway, if it is not that of `GATEWAY_ENV`",
      default: "set by `GATEWAY_ENV`",
      example: "https://gateway.example.com",
    },
    "must be an https:// URL (http:// for loopback only), without user, query and fragment",
    baseUrl,
  ),
  GATEWAY_MAX_IN_FLIGHT: setting(
    {
      description: "Maximum number of concurrent gateway calls per instance, not counting " +
        "background work; others wait",
      default: "`50`",
      example: "50",
    },
    "must be a whole number, 1 to 10000",
    wholeNumber(1, 10_000),
  ),
  SANDBOX_PORT: setting(
    {
      description: "Port of the sandbox in the embedded default; 0 picks a free one",
      default: "`8001`",
      example: "8001",
    },
    "must be a port number, 0 to 65535",
    wholeNumber(0, 65_535),
  ),
  NOTIFICATION_CONFIRM: setting(
    {
      description:
        "When the service queries the gateway before it applies a notification: only if " +
        "the signed fields do not prove the new state (`unproven`), or also before a payment becomes " +
        "paid (`paid`)",
      default: "`unproven`",
      example: "paid",
    },
    "must be unproven or paid",
    // `fit` is the former name of `unproven`.
    (text) => text === "paid" ? text : ["unproven", "fit"].includes(text) ? "unproven" : undefined,
  ),
  INVOICE_PAYMENTS: setting(
    {
      description: "Payment methods of invoices: the gateway's names, separated by commas",
      default: "all of them",
      example: "bca_va,gopay",
    },
    "must be names separated by commas, such as bca_va,gopay",
    (text) => /^[a-z0-9_]+(,[a-z0-9_]+)*$/.test(text) ? text.split(",") : undefined,
  ),
  QUEUE: setting(
    {
      description: "Job queue backend: `kv` for a single machine, `postgres` for any number",
      default: "`kv` without `DATABASE_URL`, else `postgres`",
      example: "kv",
    },
    "must be kv or postgres",
    (text) => text === "kv" || text === "postgres" ? text : undefined,
  ),
  KEEP_JOBS_DAYS: daysSetting({
    description: "Days to keep finished jobs; if `KEEP_KEYS_DAYS` is higher, that value applies",
    default: "`30`",
    example: "7",
  }),
  KEEP_NOTIFICATIONS_DAYS: daysSetting({
    description: "Days to keep processed notifications",
    default: "`400`",
    example: "90",
  }),
  KEEP_KEYS_DAYS: daysSetting({
    description: "Days for which idempotency keys are valid, and kept",
    default: "`1`",
    example: "7",
  }),
  KEEP_EVENTS_DAYS: daysSetting({
    description: "Days to keep delivered events",
    default: "`400`",
    example: "90",
  }),
  KEEP_AUDIT_DAYS: daysSetting({
    description: "Days to keep the audit trail (`GET /audit/`)",
    default: "`400`",
    example: "90",
  }),
  KEEP_RECONCILIATIONS_DAYS: daysSetting({
    description: "Days to keep reconciled reports and their differences (`GET /reconciliations/`)",
    default: "`400`",
    example: "90",
  }),
  KEEP_HELD_DELIVERIES_DAYS: daysSetting({
    description: "Days until events that wait for a disabled webhook endpoint expire",
    default: "the value of `KEEP_EVENTS_DAYS`",
    example: "90",
  }),
  RECHECK_MINUTES: setting(
    {
      description: "Minutes after which a paid payment is checked again if its bank or store can " +
        "reverse it (Permata, Mandiri bill, Indomaret)",
      default: "`10`",
      example: "15",
    },
    "must be a number of minutes, 5 to 1440",
    wholeNumber(5, 1_440),
  ),
  RECHECK_DAYS: setting(
    {
      description: "Days after which paid wallet, QRIS, pay-later and card payments are checked " +
        "again; they are also checked after the end of their refund window",
      default: "`1,7`",
      example: "1,3,30",
    },
    "must be up to 20 numbers of days, 1 to 365, separated by commas, such as 1,7",
    wholeNumbers(1, 365, 20),
  ),
  RECHECK_CARD_DAYS: setting(
    {
      description:
        "Days for which paid card payments are checked every week, because they can be " +
        "charged back; 0 turns the weekly checks off",
      default: "`120`",
      example: "180",
    },
    "must be a number of days, 0 to 730",
    wholeNumber(0, 730),
  ),
  RECHECK_PER_MINUTE: setting(
    {
      description: "Maximum number of checks of paid payments per minute, for all instances " +
        "together; 0 turns them off",
      default: "`600`",
      example: "120",
    },
    "must be a whole number, 0 to 6000",
    wholeNumber(0, 6_000),
  ),
  WEBHOOK_ALLOW_PRIVATE: booleanSetting({
    description: "`true` allows webhook endpoints on private networks and without TLS",
    default: "`true` in the embedded default, else `false`",
    example: "true",
  }),
  LOG_GATEWAY: booleanSetting({
    description: "`true` logs requests to the gateway and its responses, with secrets masked",
    default: "`false`",
    example: "true",
  }),
  AUTH_JWKS_URL: setting(
    {
      description: "Accept JWTs signed by a key of the JWK set at this URL",
      default: "JWTs are not accepted",
      example: "https://id.example.com/.well-known/jwks.json",
    },
    "must be an https:// URL (http:// for loopback only)",
    url(isEncryptedOrLoopback),
  ),
  AUTH_JWT_SECRET: setting(
    {
      description: "Accept JWTs signed with this shared secret (HS256, HS384, HS512) (secret)",
      default: "JWTs are not accepted",
      example: "32 or more random characters",
    },
    "must have at least 32 characters",
    (text) => text.length >= 32 ? text : undefined,
  ),
  AUTH_JWT_ISSUER: textSetting({
    description: "Required `iss` of JWTs",
    default: "none; required for JWTs",
    example: "https://id.example.com/",
  }),
  AUTH_JWT_AUDIENCE: textSetting({
    description: "Required `aud` of JWTs",
    default: "none; required for JWTs",
    example: "payments",
  }),
  AUTH_STAFF_CLAIM: textSetting({
    description: "Claim that marks a JWT's user as staff if its value is `true`",
    default: "JWTs are never staff",
    example: "staff",
  }),
  AUTH_VIEWER_CLAIM: textSetting({
    description: "Claim that marks a JWT's user as a viewer, who sees what staff see and changes " +
      "nothing, if its value is `true`",
    default: "JWTs are never viewers",
    example: "auditor",
  }),
  BOOTSTRAP_STAFF_KEY: setting(
    {
      description: "Staff API key created at startup if missing (secret)",
      default: "none",
      example: "gk_ followed by 32 random bytes in base64url",
    },
    "must be gk_ followed by 43 base64url characters (32 random bytes)",
    matching(API_KEY_PATTERN),
  ),
  RATE_LIMIT_PER_SECOND: setting(
    {
      description: "Maximum number of requests per second for each caller, per instance",
      default: "`100`",
      example: "100",
    },
    "must be a whole number, 1 to 1000000",
    wholeNumber(1, 1_000_000),
  ),
  RATE_LIMIT_BURST: setting(
    { description: "Requests a caller may send in one burst", default: "`200`", example: "200" },
    "must be a whole number, 1 to 1000000",
    wholeNumber(1, 1_000_000),
  ),
  STREAMS_PER_CALLER: setting(
    {
      description: "Maximum number of open event streams for each caller, per instance",
      default: "`100`",
      example: "100",
    },
    "must be a whole number, 1 to 100000",
    wholeNumber(1, 100_000),
  ),
  STREAMS_TOTAL: setting(
    {
      description: "Maximum number of open event streams per instance",
      default: "`1000`",
      example: "1000",
    },
    "must be a whole number, 1 to 100000",
    wholeNumber(1, 100_000),
  ),
  SHARED_LIMITS: booleanSetting({
    description: "`true` counts `RATE_LIMIT_…` and `STREAMS_…` over all instances, in PostgreSQL " +
      "([how exactly](production.md#shared-limits)), instead of per instance",
    default: "`false`",
    example: "true",
  }),
  BACKUP_TIME_FILE: setting(
    {
      description: "File that each backup touches when it has succeeded: " +
        "[the doctor](production.md#the-doctor) warns if its time is more than 25 hours ago",
      default: "none",
      example: "/var/backups/payments.time",
    },
    PATH_PROBLEM,
    matching(PATH_PATTERN),
  ),
  METRICS_TOKEN: setting(
    {
      description: "Token with which a monitoring system can read `GET /metrics`, in addition to " +
        "staff and viewer credentials (secret)",
      default: "none",
      example: "32 or more random characters",
    },
    "must be at least 32 characters without spaces",
    matching(/^[\x21-\x7e]{32,}$/),
  ),
  TRUST_PROXY: setting(
    {
      description: "Proxies whose `X-Forwarded-For` is trusted: IP addresses and networks",
      default: "none",
      example: "127.0.0.1, 10.0.0.0/8",
    },
    "must be IP addresses and networks separated by commas",
    (text) => parseAddressList(text) ?? undefined,
  ),
  DRAIN_SECONDS: setting(
    {
      description: "Seconds that `/health/ready/` responds 503 before a shutdown closes the port",
      default: "`0` in the embedded default and on Deno Deploy, else `3`",
      example: "5",
    },
    "must be a whole number, 0 to 300",
    wholeNumber(0, 300),
  ),
  BUILD: setting(
    {
      description:
        "Id of the running build, such as a commit, for `GET /status/`, the metrics and the log",
      default: "`DENO_DEPLOY_BUILD_ID`; in a Git checkout, its commit; else none",
      example: "ee3612b0",
    },
    "must be 1 to 100 letters, digits and . _ - +",
    matching(/^[\w.+-]{1,100}$/),
  ),
  DENO_DEPLOY_BUILD_ID: textSetting({
    description: "Id of the revision; set by the platform Deno Deploy",
    default: "none",
    example: "k3v9x2m1",
  }),
  // Not `booleanSetting`: the platform sets it, and its documentation shows both `1` and `true`.
  DENO_DEPLOY: z.string().transform(meansDenoDeploy).optional().meta({
    description:
      "Set by the platform Deno Deploy; do not set it yourself. Unless it is empty, `0` or " +
      "`false`, the service [follows the rules of that platform](production.md#on-deno-deploy)",
    default: "empty",
    example: "1",
  }),
});

export type Settings = z.output<typeof SETTINGS>;
export type SettingName = keyof Settings;

/** The environment, reduced to the known variables. */
export type Environment = Partial<Record<SettingName, string>>;

export const SETTING_NAMES = Object.keys(SETTINGS.shape) as SettingName[];

export function settingInfo(name: SettingName): SettingInfo {
  return SETTINGS.shape[name].meta() as unknown as SettingInfo;
}
