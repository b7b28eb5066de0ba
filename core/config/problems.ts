/** Finds missing and conflicting settings, and defines the error that lists all problems. */

import { isLoopback, meansDenoDeploy } from "./parsers.ts";
import {
  DEFAULT_PORT,
  DEFAULT_SANDBOX_PORT,
  type Environment,
  SANDBOX_SERVER_KEY,
  settingInfo,
  type SettingName,
} from "./settings.ts";

/** Settings that have an effect only if JWTs are accepted. */
const JWT_SETTINGS = [
  "AUTH_JWT_ISSUER",
  "AUTH_JWT_AUDIENCE",
  "AUTH_STAFF_CLAIM",
  "AUTH_VIEWER_CLAIM",
] as const;

export interface ConfigProblem {
  name: SettingName;
  problem: string;
  /**
   * Whether the message shows the setting's example. False if a value is set but conflicts with
   * another setting, because the example could conflict with that setting, too.
   */
  hasExample: boolean;
}

export class ConfigError extends Error {
  override name = "ConfigError";

  constructor(readonly problems: ConfigProblem[], readonly isDenoDeploy = false) {
    const width = Math.max(...problems.map(({ name }) => name.length));
    // Values are never shown: a secret may have been set in the wrong variable.
    super([
      problems.length === 1 ? "One setting is wrong:" : `${problems.length} settings are wrong:`,
      ...problems.map(({ name, problem, hasExample }) =>
        `  ${name.padEnd(width)}  ${problem}${
          hasExample ? ` (example: ${settingInfo(name).example})` : ""
        }`
      ),
    ].join("\n"));
  }
}

/** Settings that are missing, and settings that conflict with each other. */
export function findProblems(env: Environment): ConfigProblem[] {
  return [
    ...findPlatformProblems(env),
    ...findGatewayProblems(env),
    ...findSandboxProblems(env),
    ...findJwtProblems(env),
    ...findMailProblems(env),
  ].map(([name, problem]) => ({ name, problem, hasExample: !env[name] }));
}

type Problem = [name: SettingName, problem: string];

function* findPlatformProblems(env: Environment): Iterable<Problem> {
  const { DATABASE_URL, GATEWAY_SERVER_KEY } = env;
  const isDenoDeploy = meansDenoDeploy(env.DENO_DEPLOY);
  if (isDenoDeploy && !DATABASE_URL) {
    yield [
      "DATABASE_URL",
      "is missing; attach a PostgreSQL database to the app, or set it",
    ];
  }
  if (!GATEWAY_SERVER_KEY && (DATABASE_URL || isDenoDeploy)) {
    const reason = isDenoDeploy ? "on Deno Deploy" : "with DATABASE_URL";
    yield ["GATEWAY_SERVER_KEY", `is missing; it is required ${reason}`];
  }
  if (isDenoDeploy && env.QUEUE === "kv") {
    yield ["QUEUE", "must be postgres on Deno Deploy, which has no KV queues"];
  }
  if (isDenoDeploy && Number(env.DRAIN_SECONDS ?? 0) > 0) {
    yield [
      "DRAIN_SECONDS",
      "must be 0 on Deno Deploy, which kills an instance 5 seconds after the stop signal",
    ];
  }
  if (env.DATABASE_DIRECT_URL && !DATABASE_URL) {
    yield ["DATABASE_DIRECT_URL", "requires DATABASE_URL to be set, too"];
  }
}

function* findGatewayProblems(env: Environment): Iterable<Problem> {
  const { GATEWAY_SERVER_KEY } = env;
  if (GATEWAY_SERVER_KEY === SANDBOX_SERVER_KEY) {
    yield [
      "GATEWAY_SERVER_KEY",
      "is the publicly known key of the sandbox; set your own key, or unset this setting and " +
      "DATABASE_URL to use the sandbox",
    ];
  }
  for (const name of ["GATEWAY_CLIENT_KEY", "GATEWAY_ENV", "GATEWAY_BASE_URL"] as const) {
    if (!GATEWAY_SERVER_KEY && env[name]) {
      yield [name, "requires GATEWAY_SERVER_KEY to be set, too"];
    }
  }
  // Not every sandbox key of the gateway starts with SB-, but no production key does. In
  // production, the gateway would reject every payment with a sandbox key, and customers would
  // notice it first.
  for (const name of ["GATEWAY_SERVER_KEY", "GATEWAY_CLIENT_KEY"] as const) {
    if (env.GATEWAY_ENV === "production" && env[name]?.startsWith("SB-")) {
      yield [name, "is a sandbox key; GATEWAY_ENV=production needs a production key"];
    }
  }
}

function* findSandboxProblems(env: Environment): Iterable<Problem> {
  const { DATABASE_URL, GATEWAY_SERVER_KEY, HOST } = env;
  const isDenoDeploy = meansDenoDeploy(env.DENO_DEPLOY);
  const isEmbeddedDefault = !DATABASE_URL && !GATEWAY_SERVER_KEY && !isDenoDeploy;
  if (!isEmbeddedDefault && env.SANDBOX_PORT) {
    yield [
      "SANDBOX_PORT",
      "must not be set with DATABASE_URL or GATEWAY_SERVER_KEY; there is no sandbox then",
    ];
  }
  const { PORT = DEFAULT_PORT, SANDBOX_PORT = DEFAULT_SANDBOX_PORT } = env;
  if (isEmbeddedDefault && Number(PORT) === Number(SANDBOX_PORT) && Number(PORT) !== 0) {
    yield ["SANDBOX_PORT", "must differ from PORT"];
  }
  if (isEmbeddedDefault && HOST && !isLoopback(HOST)) {
    yield ["HOST", "must be a loopback address unless GATEWAY_SERVER_KEY is set"];
  }
}

function* findJwtProblems(env: Environment): Iterable<Problem> {
  const { AUTH_JWKS_URL, AUTH_JWT_SECRET } = env;
  if (AUTH_JWKS_URL && AUTH_JWT_SECRET) {
    yield ["AUTH_JWT_SECRET", "cannot be combined with AUTH_JWKS_URL; set one of them"];
  }
  const acceptsJwt = AUTH_JWKS_URL || AUTH_JWT_SECRET;
  for (const name of ["AUTH_JWT_ISSUER", "AUTH_JWT_AUDIENCE"] as const) {
    if (acceptsJwt && !env[name]) yield [name, "is missing; it is required for JWTs"];
  }
  for (const name of JWT_SETTINGS) {
    if (!acceptsJwt && env[name]) {
      yield [name, "requires AUTH_JWKS_URL or AUTH_JWT_SECRET to be set, too"];
    }
  }
  if (env.AUTH_VIEWER_CLAIM && env.AUTH_VIEWER_CLAIM === env.AUTH_STAFF_CLAIM) {
    yield ["AUTH_VIEWER_CLAIM", "must differ from AUTH_STAFF_CLAIM"];
  }
}

function* findMailProblems(env: Environment): Iterable<Problem> {
  if (env.SMTP_URL && !env.MAIL_FROM) {
    yield ["MAIL_FROM", "is missing; it is required with SMTP_URL"];
  }
  for (const name of ["MAIL_FROM", "ATTENTION_EMAIL"] as const) {
    if (!env.SMTP_URL && env[name]) yield [name, "requires SMTP_URL to be set, too"];
  }
  if (!env.SMTP_URL && env.RECEIPT_EMAILS === "true") {
    yield ["RECEIPT_EMAILS", "requires SMTP_URL to be set, too"];
  }
}
