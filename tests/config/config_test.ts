import assert from "node:assert/strict";
import { parseConfig } from "../../core/config/config.ts";
import { describeSettings } from "../../core/config/describe.ts";
import { ConfigError } from "../../core/config/problems.ts";
import {
  SANDBOX_CLIENT_KEY,
  SANDBOX_SERVER_KEY,
  SETTING_NAMES,
  settingInfo,
} from "../../core/config/settings.ts";

/** The names of the settings that are reported as wrong. */
function problemsOf(env: Record<string, string>): string[] {
  try {
    parseConfig(env, "/project");
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems.map(({ name }) => name);
  }
  return [];
}

Deno.test("config: without settings is the embedded default on a loopback address", () => {
  const config = parseConfig({}, "/project");
  assert.equal(config.isEmbeddedDefault, true);
  assert.equal(config.host, "127.0.0.1");
  assert.equal(config.port, 8000);
  assert.equal(config.dataDir, "/project/.data");
  assert.equal(config.databaseUrl, null);
  assert.deepEqual(config.rateLimit, { perSecond: 100, burst: 200 });
});

Deno.test("config: the build is BUILD, or the revision on Deno Deploy", () => {
  assert.equal(parseConfig({}, "/project").build, null);
  const revision = { DENO_DEPLOY_BUILD_ID: "k3v9x2m1" };
  assert.equal(parseConfig(revision, "/project").build, "k3v9x2m1");
  assert.equal(parseConfig({ ...revision, BUILD: "ee3612b0" }, "/project").build, "ee3612b0");
});

Deno.test("config: with GATEWAY_SERVER_KEY is not the embedded default, with or without DATABASE_URL", () => {
  const gateway = parseConfig({ GATEWAY_SERVER_KEY: "Mid-server-x" }, "/project");
  assert.equal(gateway.isEmbeddedDefault, false);
  assert.equal(gateway.host, "0.0.0.0");
  const bothSettings = { GATEWAY_SERVER_KEY: "Mid-server-x", DATABASE_URL: "postgres://host/db" };
  assert.equal(parseConfig(bothSettings, "/project").isEmbeddedDefault, false);
});

Deno.test("config: reports all problems at once, with examples of valid values", () => {
  const env = {
    PORT: "eighty",
    HOST: "example.com",
    BASE_PATH: "pay/",
    DATABASE_URL: "mysql://host/db",
    AUTH_JWT_SECRET: "short",
    RATE_LIMIT_BURST: "-1",
    TRUST_PROXY: "everyone",
  };
  assert.deepEqual(problemsOf(env), [
    ...Object.keys(env),
    ...["GATEWAY_SERVER_KEY", "AUTH_JWT_ISSUER", "AUTH_JWT_AUDIENCE"],
  ]);
  assert.throws(() => parseConfig(env, "/"), (error: Error) => {
    const lines = error.message.split("\n");
    assert.equal(lines[0], "10 settings are wrong:");
    assert.equal(lines.length, 11);
    assert.match(lines[1]!, /^ {2}PORT +must be a port number, 0 to 65535 \(example: 8000\)$/);
    return true;
  });
});

Deno.test("config: shows no example for a value that only conflicts with another setting", () => {
  const refused = { HOST: "0.0.0.0" };
  assert.throws(() => parseConfig(refused, "/"), (error: Error) => {
    assert.match(error.message, /^ {2}HOST {2}must be a loopback address unless .*_KEY is set$/m);
    return true;
  });
  const missing = { DATABASE_URL: "postgres://127.0.0.1/payments" };
  assert.throws(() => parseConfig(missing, "/"), /GATEWAY_SERVER_KEY.+is missing.+\(example: /);
});

Deno.test("config: error messages contain no values", () => {
  const env = Object.fromEntries(SETTING_NAMES.map((name) => [name, `hunter2 for ${name}!,`]));
  assert.throws(() => parseConfig(env, "/"), (error: Error) => {
    assert.doesNotMatch(error.message + error.stack, /hunter2/);
    return true;
  });
});

for (const name of SETTING_NAMES) {
  // The platform sets it, perhaps to empty text, which means no.
  if (name === "DENO_DEPLOY") continue;
  Deno.test(`${name}: is rejected if it is set but empty`, () => {
    for (const empty of ["", "  "]) assert.ok(problemsOf({ [name]: empty }).includes(name));
  });
}

Deno.test("GATEWAY_SERVER_KEY: rejects the publicly known key of the sandbox", () => {
  assert.deepEqual(problemsOf({ GATEWAY_SERVER_KEY: SANDBOX_SERVER_KEY }), ["GATEWAY_SERVER_KEY"]);
  assert.deepEqual(
    problemsOf({ GATEWAY_SERVER_KEY: SANDBOX_SERVER_KEY, DATABASE_URL: "postgres://host/db" }),
    ["GATEWAY_SERVER_KEY"],
  );
});

Deno.test("DATABASE_URL: requires GATEWAY_SERVER_KEY", () => {
  assert.deepEqual(problemsOf({ DATABASE_URL: "postgres://host/db" }), ["GATEWAY_SERVER_KEY"]);
});

Deno.test("DATABASE_DIRECT_URL: requires DATABASE_URL, and rejects the same invalid URLs", () => {
  const settings = { DATABASE_URL: "postgres://host/db", GATEWAY_SERVER_KEY: "Mid-server-x" };
  const directUrlOf = (env: Record<string, string>) =>
    parseConfig({ ...settings, ...env }, "/project").databaseDirectUrl;
  assert.equal(directUrlOf({}), null);
  const DATABASE_DIRECT_URL = "postgres://direct/db";
  assert.equal(directUrlOf({ DATABASE_DIRECT_URL }), DATABASE_DIRECT_URL);
  assert.deepEqual(problemsOf({ DATABASE_DIRECT_URL }), ["DATABASE_DIRECT_URL"]);
  for (const invalid of ["mysql://host/db", "postgres://host", "host"]) {
    assert.deepEqual(problemsOf({ ...settings, DATABASE_DIRECT_URL: invalid }), [
      "DATABASE_DIRECT_URL",
    ]);
  }
});

Deno.test("HOST: must be a loopback address in the embedded default", () => {
  for (const HOST of ["0.0.0.0", "::", "192.168.1.1"]) {
    assert.deepEqual(problemsOf({ HOST }), ["HOST"]);
  }
  for (const HOST of ["127.0.0.1", "127.1.2.3", "::1", "localhost"]) {
    assert.deepEqual(problemsOf({ HOST }), []);
  }
  assert.deepEqual(problemsOf({ HOST: "0.0.0.0", GATEWAY_SERVER_KEY: "Mid-server-x" }), []);
});

Deno.test("config: the embedded default uses its own sandbox with the sandbox's keys", () => {
  const config = parseConfig({}, "/project");
  assert.equal(config.sandboxPort, 8001);
  assert.equal(config.logGateway, false);
  assert.deepEqual(config.gateway, {
    environment: "embedded",
    baseUrl: "http://127.0.0.1:8001",
    serverKey: SANDBOX_SERVER_KEY,
    clientKey: SANDBOX_CLIENT_KEY,
    maxInFlight: 50,
  });
  const changed = parseConfig({ SANDBOX_PORT: "8101", LOG_GATEWAY: "true" }, "/project");
  assert.equal(changed.sandboxPort, 8101);
  assert.equal(changed.gateway.baseUrl, "http://127.0.0.1:8101");
  assert.equal(changed.logGateway, true);
});

Deno.test("GATEWAY_ENV: sets the base URL unless GATEWAY_BASE_URL is set", () => {
  const baseUrlOf = (env: Record<string, string>) =>
    parseConfig({ GATEWAY_SERVER_KEY: "Mid-server-x", ...env }, "/project").gateway.baseUrl;
  assert.equal(baseUrlOf({}), "https://api.sandbox.midtrans.com");
  assert.equal(baseUrlOf({ GATEWAY_ENV: "sandbox" }), "https://api.sandbox.midtrans.com");
  assert.equal(baseUrlOf({ GATEWAY_ENV: "production" }), "https://api.midtrans.com");
  const ownProxy = {
    GATEWAY_ENV: "production",
    GATEWAY_BASE_URL: "https://proxy.example.com/pay/",
  };
  assert.equal(baseUrlOf(ownProxy), "https://proxy.example.com/pay");
  assert.equal(baseUrlOf({ GATEWAY_BASE_URL: "http://127.0.0.1:9/" }), "http://127.0.0.1:9");
});

Deno.test("GATEWAY_SERVER_KEY and GATEWAY_CLIENT_KEY: are used unchanged", () => {
  const env = {
    GATEWAY_SERVER_KEY: "newer-key",
    GATEWAY_CLIENT_KEY: "client",
    LOG_GATEWAY: "false",
  };
  const config = parseConfig({ ...env, GATEWAY_MAX_IN_FLIGHT: "7" }, "/project");
  assert.equal(config.gateway.serverKey, "newer-key");
  assert.equal(config.gateway.clientKey, "client");
  assert.equal(config.gateway.maxInFlight, 7);
  assert.equal(config.logGateway, false);
  assert.equal(config.sandboxPort, null);
});

Deno.test("config: settings of the gateway require GATEWAY_SERVER_KEY", () => {
  const env = {
    GATEWAY_CLIENT_KEY: "client",
    GATEWAY_ENV: "production",
    GATEWAY_BASE_URL: "https://gateway.example.com",
  };
  assert.deepEqual(problemsOf(env), Object.keys(env));
  assert.deepEqual(problemsOf({ ...env, GATEWAY_SERVER_KEY: "Mid-server-x" }), []);
});

Deno.test("GATEWAY_ENV: production rejects sandbox keys", () => {
  const env = { GATEWAY_SERVER_KEY: "SB-Mid-server-x", GATEWAY_CLIENT_KEY: "SB-Mid-client-x" };
  assert.deepEqual(problemsOf(env), []);
  assert.deepEqual(problemsOf({ ...env, GATEWAY_ENV: "production" }), Object.keys(env));
});

Deno.test("SANDBOX_PORT: must differ from PORT, and is rejected if GATEWAY_SERVER_KEY is set", () => {
  const key = { GATEWAY_SERVER_KEY: "Mid-server-x" };
  assert.deepEqual(problemsOf({ SANDBOX_PORT: "8101", ...key }), ["SANDBOX_PORT"]);
  assert.deepEqual(problemsOf({ SANDBOX_PORT: "8000" }), ["SANDBOX_PORT"]);
  assert.deepEqual(problemsOf({ PORT: "8001" }), ["SANDBOX_PORT"]);
  assert.deepEqual(problemsOf({ PORT: "8001", ...key }), []);
  assert.deepEqual(problemsOf({ PORT: "0", SANDBOX_PORT: "0" }), []);
});

Deno.test("config: JWT settings must be complete, with either a JWKS or a secret", () => {
  const jwtSettings = { AUTH_JWT_ISSUER: "i", AUTH_JWT_AUDIENCE: "a" };
  const AUTH_JWT_SECRET = "x".repeat(32);
  const AUTH_JWKS_URL = "https://id.example.com/jwks";
  assert.deepEqual(problemsOf({ ...jwtSettings, AUTH_JWT_SECRET }), []);
  assert.deepEqual(problemsOf({ ...jwtSettings, AUTH_JWKS_URL }), []);
  assert.deepEqual(problemsOf({ ...jwtSettings, AUTH_JWKS_URL, AUTH_JWT_SECRET }), [
    "AUTH_JWT_SECRET",
  ]);
  assert.deepEqual(problemsOf({ AUTH_JWKS_URL }), ["AUTH_JWT_ISSUER", "AUTH_JWT_AUDIENCE"]);
  const withoutKey = { ...jwtSettings, AUTH_STAFF_CLAIM: "staff", AUTH_VIEWER_CLAIM: "auditor" };
  assert.deepEqual(problemsOf(withoutKey), Object.keys(withoutKey));
  const sameClaim = { AUTH_STAFF_CLAIM: "staff", AUTH_VIEWER_CLAIM: "staff" };
  assert.deepEqual(problemsOf({ ...jwtSettings, AUTH_JWT_SECRET, ...sameClaim }), [
    "AUTH_VIEWER_CLAIM",
  ]);
  const insecure = { ...jwtSettings, AUTH_JWKS_URL: "http://id.example.com/jwks" };
  assert.deepEqual(problemsOf(insecure), ["AUTH_JWKS_URL"]);
});

function withSslMode(mode: string) {
  const DATABASE_URL = `postgres://host/db?sslmode=${mode}`;
  return { DATABASE_URL, GATEWAY_SERVER_KEY: "Mid-server-x" };
}

Deno.test("config: accepts and rejects boundary values", () => {
  const validSettings: Record<string, string>[] = [
    ...[{ PORT: "0" }, { PORT: "65535" }, { BASE_PATH: "/a" }, { BASE_PATH: "/a/b.c~d-e_f" }],
    ...[{ DATA_DIR: "/x/y" }, { DATABASE_POOL_SIZE: "1" }, { TRUST_PROXY: "10.0.0.0/8,::1/128" }],
    ...[{ BOOTSTRAP_STAFF_KEY: "gk_" + "a".repeat(43) }, { DRAIN_SECONDS: "300" }],
    ...[{ SANDBOX_PORT: "65535" }, { GATEWAY_MAX_IN_FLIGHT: "1" }, { LOG_GATEWAY: "true" }],
    ...["disable", "prefer", "require", "verify-full", "allow", "verify-ca", "no-verify"]
      .map(withSslMode),
  ];
  for (const env of validSettings) assert.deepEqual(problemsOf(env), [], JSON.stringify(env));
  const invalidSettings: Record<string, string>[] = [
    ...[{ PORT: "65536" }, { PORT: "-1" }, { PORT: "1.5" }, { PORT: "0x50" }, { PORT: " 80" }],
    ...[{ BASE_PATH: "/" }, { BASE_PATH: "/a/" }, { BASE_PATH: "a" }, { BASE_PATH: "/a//b" }],
    ...[{ BASE_PATH: "/a b" }, { BASE_PATH: "/:a" }, { BASE_PATH: "/*" }],
    ...[{ DATA_DIR: "a b" }, { DATA_DIR: "a,b" }, { DATA_DIR: 'a"b' }, { DATA_DIR: "$a" }, {
      DATABASE_POOL_SIZE: "0",
    }],
    ...[{ TRUST_PROXY: "10.0.0.0/33" }, { TRUST_PROXY: "1.2.3" }, { TRUST_PROXY: "1.2.3.4/8/8" }],
    ...[{ TRUST_PROXY: "1.2.3.4," }, { TRUST_PROXY: "::1/x" }],
    ...[{ SANDBOX_PORT: "65536" }, { GATEWAY_MAX_IN_FLIGHT: "0" }, { LOG_GATEWAY: "toString" }],
    ...[{ GATEWAY_ENV: "live" }, { GATEWAY_CLIENT_KEY: "a b" }, { GATEWAY_SERVER_KEY: "a b" }],
    ...[{ GATEWAY_BASE_URL: "http://gateway.example.com" }, { GATEWAY_BASE_URL: "ftp://x" }],
    ...[{ GATEWAY_BASE_URL: "https://x/?a=b" }, { GATEWAY_BASE_URL: "https://x/#a" }],
    ...[{ GATEWAY_BASE_URL: "https://user:pass@x" }, { GATEWAY_BASE_URL: "gateway" }],
    ...[{ BOOTSTRAP_STAFF_KEY: "gk_" + "a".repeat(42) }, { BOOTSTRAP_STAFF_KEY: "a".repeat(46) }],
  ];
  for (const mode of ["Require", "yes"]) {
    assert.deepEqual(problemsOf(withSslMode(mode)), ["DATABASE_URL"], mode);
  }
  for (const env of invalidSettings) {
    assert.deepEqual(problemsOf(env), Object.keys(env), JSON.stringify(env));
  }
});

Deno.test("NOTIFICATION_CONFIRM: is unproven by default, and for the former value fit", () => {
  const confirmOf = (env: Record<string, string>) =>
    parseConfig(env, "/project").notificationConfirm;
  assert.equal(confirmOf({}), "unproven");
  assert.equal(confirmOf({ NOTIFICATION_CONFIRM: "unproven" }), "unproven");
  assert.equal(confirmOf({ NOTIFICATION_CONFIRM: "fit" }), "unproven");
  assert.equal(confirmOf({ NOTIFICATION_CONFIRM: "paid" }), "paid");
  assert.deepEqual(problemsOf({ NOTIFICATION_CONFIRM: "all" }), ["NOTIFICATION_CONFIRM"]);
});

Deno.test("WEBHOOK_ALLOW_PRIVATE: defaults to true in the embedded default only", () => {
  const realSettings = { DATABASE_URL: "postgres://host/db", GATEWAY_SERVER_KEY: "Mid-server-x" };
  const allows = (env: Record<string, string>) => parseConfig(env, "/project").webhookAllowPrivate;
  assert.deepEqual([allows({}), allows(realSettings)], [true, false]);
  assert.equal(allows({ ...realSettings, WEBHOOK_ALLOW_PRIVATE: "true" }), true);
  assert.equal(allows({ WEBHOOK_ALLOW_PRIVATE: "false" }), false);
});

Deno.test("shown settings: are in the order of the settings, with all retention times", () => {
  const shown: string[] = describeSettings(parseConfig({}, "/project")).map(({ name }) => name);
  assert.deepEqual(shown, SETTING_NAMES.filter((name) => shown.includes(name)));
  const isRetention = (name: string) => name.startsWith("KEEP_");
  assert.deepEqual(shown.filter(isRetention), SETTING_NAMES.filter(isRetention));
});

Deno.test("docs/settings.md: its table equals the settings in the code", async () => {
  const guide = await Deno.readTextFile(new URL("../../docs/settings.md", import.meta.url));
  const rows = (text: string) =>
    text.split("\n").filter((line) => line.startsWith("|"))
      .map((line) => line.split("|").map((cell) => cell.trim()).join("|"));
  const expected = SETTING_NAMES.map((name) => {
    const { description, default: value } = settingInfo(name);
    return `|\`${name}\`|${description}|${value}|`;
  });
  const actual = new Set(rows(guide));
  for (const row of expected) assert.ok(actual.has(row), `docs/settings.md lacks: ${row}`);
  const named = [...guide.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => name);
  assert.deepEqual(named, SETTING_NAMES);
});

Deno.test("config: PUBLIC_URL begins with https, or with http on this machine, and has no slash at the end", () => {
  const publicUrl = (PUBLIC_URL: string) => parseConfig({ PUBLIC_URL }, "/project").publicUrl;
  assert.equal(parseConfig({}, "/project").publicUrl, null);
  assert.equal(publicUrl("https://pay.shop.example/"), "https://pay.shop.example");
  assert.equal(publicUrl("https://shop.example/pay-service"), "https://shop.example/pay-service");
  assert.equal(publicUrl("http://127.0.0.1:8000"), "http://127.0.0.1:8000");
  const wrong = [
    "http://pay.shop.example",
    "pay.shop.example",
    "ftp://pay.shop.example",
    "https://user:password@pay.shop.example",
    "https://pay.shop.example/?x=1",
    "https://pay.shop.example/#x",
  ];
  for (const PUBLIC_URL of wrong) {
    assert.deepEqual(problemsOf({ PUBLIC_URL }), ["PUBLIC_URL"], PUBLIC_URL);
  }
});

Deno.test("config: SMTP_URL is a URL of a mail server, and its port and encryption follow from it", () => {
  const serverOf = (SMTP_URL: string) =>
    parseConfig({ SMTP_URL, MAIL_FROM: "a@shop.example" }, "/project").mail!.server;
  assert.deepEqual(serverOf("smtps://user%40x:p%3Ass@smtp.shop.example"), {
    host: "smtp.shop.example",
    port: 465,
    encryption: "tls",
    login: { user: "user@x", password: "p:ss" },
  });
  assert.deepEqual(serverOf("smtp://smtp.shop.example"), {
    host: "smtp.shop.example",
    port: 587,
    encryption: "starttls",
    login: null,
  });
  assert.deepEqual(serverOf("smtp://[::1]:1025"), {
    host: "::1",
    port: 1025,
    encryption: "none",
    login: null,
  });
  const wrong = [
    "https://smtp.shop.example",
    "smtp.shop.example:465",
    "smtps://",
    "smtps://user@smtp.shop.example",
    "smtps://user:p%ZZ@smtp.shop.example",
    "smtps://smtp.shop.example/path",
    "smtps://smtp.shop.example?secure=no",
  ];
  for (const SMTP_URL of wrong) {
    assert.deepEqual(problemsOf({ SMTP_URL, MAIL_FROM: "a@shop.example" }), ["SMTP_URL"], SMTP_URL);
  }
  const secret = { SMTP_URL: "smtp://user:wr0ng-secret@host/path", MAIL_FROM: "a@shop.example" };
  assert.throws(
    () => parseConfig(secret, "/project"),
    (error: Error) =>
      /SMTP_URL {2}must be smtps:/.test(error.message) && !/wr0ng/.test(error.message),
  );
});

Deno.test("config: mail settings need SMTP_URL, and SMTP_URL needs a sender", () => {
  assert.equal(parseConfig({}, "/project").mail, null);
  assert.deepEqual(problemsOf({ SMTP_URL: "smtp://127.0.0.1" }), ["MAIL_FROM"]);
  assert.deepEqual(problemsOf({ MAIL_FROM: "a@shop.example" }), ["MAIL_FROM"]);
  assert.deepEqual(problemsOf({ ATTENTION_EMAIL: "a@shop.example" }), ["ATTENTION_EMAIL"]);
  assert.deepEqual(problemsOf({ RECEIPT_EMAILS: "true" }), ["RECEIPT_EMAILS"]);
  const mail = { SMTP_URL: "smtp://127.0.0.1", MAIL_FROM: "Kopi Kita <a@shop.example>" };
  assert.deepEqual(
    parseConfig({ ...mail, ATTENTION_EMAIL: "a@x.example, b@x.example" }, "/project").mail!
      .attentionTo,
    ["a@x.example", "b@x.example"],
  );
  for (const MAIL_FROM of ["shop", "a@b, c@d", "Kopi <a@b", "<a@b>\nBcc: c@d"]) {
    assert.deepEqual(problemsOf({ ...mail, MAIL_FROM }), ["MAIL_FROM"], MAIL_FROM);
  }
  for (const ATTENTION_EMAIL of ["ops", "a@b; c@d", "Ops <a@b>"]) {
    assert.deepEqual(problemsOf({ ...mail, ATTENTION_EMAIL }), ["ATTENTION_EMAIL"]);
  }
});

Deno.test("config: MERCHANT_COLOR is a colour with six digits", () => {
  const { merchant } = parseConfig(
    { MERCHANT_NAME: "Kopi", MERCHANT_COLOR: "#0b6e4f" },
    "/project",
  );
  assert.deepEqual([merchant.name, merchant.color], ["Kopi", "#0b6e4f"]);
  for (const MERCHANT_COLOR of ["green", "#0b6", "#0b6e4f;", "#0b6e4g"]) {
    assert.deepEqual(problemsOf({ MERCHANT_COLOR }), ["MERCHANT_COLOR"], MERCHANT_COLOR);
  }
});
