import assert from "node:assert/strict";
import { parseConfig } from "../../core/config/config.ts";
import { parseDatabaseUrl } from "../../core/config/database_url.ts";
import { ConfigError } from "../../core/config/problems.ts";

const urlWith = (query: string) => `postgres://user:p%40ss@host:6543/db${query && `?${query}`}`;

Deno.test("DATABASE_URL: keeps a URL without parameters as it is", () => {
  assert.equal(parseDatabaseUrl(urlWith("")), urlWith(""));
});

Deno.test("DATABASE_URL: translates the sslmode of other clients, and never to a weaker one", () => {
  const modes = {
    disable: "disable",
    allow: "prefer",
    prefer: "prefer",
    require: "require",
    "no-verify": "require",
    "verify-ca": "verify-full",
    "verify-full": "verify-full",
  };
  for (const [given, used] of Object.entries(modes)) {
    assert.equal(parseDatabaseUrl(urlWith(`sslmode=${given}`)), urlWith(`sslmode=${used}`));
  }
  const strict = urlWith("sslmode=verify-full");
  assert.equal(parseDatabaseUrl(urlWith("sslrootcert=system")), strict);
  assert.equal(parseDatabaseUrl(urlWith("ssl=true")), strict);
  assert.equal(parseDatabaseUrl(urlWith("sslmode=always")), undefined);
});

Deno.test("DATABASE_URL: accepts the URLs of managed databases, and removes parameters of other clients", () => {
  const urls = {
    // Neon
    "sslmode=require&channel_binding=require": "sslmode=require",
    // Supabase and Prisma behind a pooler
    "pgbouncer=true&connection_limit=1&pool_timeout=20&schema=public": "",
    "sslmode=prefer&supa=base-pooler.x&statement_cache_size=0": "sslmode=prefer",
    // libpq and Rails
    "application_name=shop&connect_timeout=10&keepalives=1&target_session_attrs=read-write": "",
    "sslmode=require&uselibpqcompat=true&gssencmode=disable": "sslmode=require",
    // Settings of the server are passed on.
    "options=-c%20search_path%3Dx": "options=-c+search_path%3Dx",
  };
  for (const [given, used] of Object.entries(urls)) {
    assert.equal(parseDatabaseUrl(urlWith(given)), urlWith(used), given);
  }
});

Deno.test("DATABASE_URL: rejects certificate files, and says what to set instead", () => {
  const DATABASE_URL = urlWith("sslmode=verify-full&sslrootcert=/etc/ca.pem");
  assert.throws(
    () => parseConfig({ DATABASE_URL, GATEWAY_SERVER_KEY: "Mid-server-x" }, "/"),
    (error) => error instanceof ConfigError && /DATABASE_URL.*DENO_CERT/.test(error.message),
  );
});

Deno.test("DATABASE_URL: accepts several hosts, and treats their parameters like those of one host", () => {
  const urls = {
    "postgres://user:p%40ss@a,b/db": "postgres://user:p%40ss@a,b/db",
    "postgresql://user@a:5432,b:5433,c/db?target_session_attrs=read-write&sslmode=verify-ca":
      "postgresql://user@a:5432,b:5433,c/db?sslmode=verify-full",
    "postgres://user@[::1]:5432,[::2]/db?application_name=shop":
      "postgres://user@[::1]:5432,[::2]/db",
    // A comma in the name of the user or in the password separates no hosts.
    "postgres://a,b:c,d@first,second/db": "postgres://a,b:c,d@first,second/db",
    "postgres://a:b@c@first,second/db": "postgres://a:b%40c@first,second/db",
  };
  for (const [given, used] of Object.entries(urls)) assert.equal(parseDatabaseUrl(given), used);
  const DATABASE_URL = "postgres://user@a:1,b:2/db";
  const config = parseConfig(
    { DATABASE_URL, GATEWAY_SERVER_KEY: "Mid-server-x", PGSSLMODE: "require" },
    "/",
  );
  assert.equal(config.databaseUrl, `${DATABASE_URL}?sslmode=require`);
});

Deno.test("DATABASE_URL: rejects hosts in the wrong place and servers without writes, and says so without the URL", () => {
  const rejected = {
    "postgres://user:p%40ss@a%2Cb/db": /hosts before the database, separated by commas/,
    "postgres:///db?user=x&host=a,b": /hosts before the database, separated by commas/,
    "postgres://user:p%40ss@a,/db": /host and database/,
    "postgres://user:p%40ss@a:5432,b:x/db": /host and database/,
    "postgres://user:p%40ss@a,b": /host and database/,
    "postgres://user:p%40ss@a,b/db?target_session_attrs=standby": /any, primary, read-write/,
    [urlWith("target_session_attrs=standby")]: /any, primary, read-write/,
    [urlWith("target_session_attrs=prefer-standby")]: /any, primary, read-write/,
    [urlWith("target_session_attrs=read-only")]: /any, primary, read-write/,
    "postgres://user:p%40ss@host": /host and database/,
  };
  for (const [DATABASE_URL, expected] of Object.entries(rejected)) {
    for (const name of ["DATABASE_URL", "DATABASE_DIRECT_URL"]) {
      const env = { DATABASE_URL: urlWith(""), GATEWAY_SERVER_KEY: "Mid-server-x" };
      assert.throws(
        () => parseConfig({ ...env, [name]: DATABASE_URL }, "/"),
        (error) => {
          assert.ok(error instanceof ConfigError, DATABASE_URL);
          assert.match(error.message, expected);
          assert.doesNotMatch(error.message, /p%40ss/);
          return true;
        },
      );
    }
  }
  for (const accepted of ["any", "primary", "read-write"]) {
    assert.equal(parseDatabaseUrl(urlWith(`target_session_attrs=${accepted}`)), urlWith(""));
  }
  // A comma in the user's name or password is not a list of hosts.
  assert.ok(parseDatabaseUrl("postgres://a,b:c,d@host/db"));
});

Deno.test("PGSSLMODE: applies to a URL without sslmode only; the default depends on the platform", () => {
  const modeOf = (query: string, env: Record<string, string>) => {
    const settings = { DATABASE_URL: urlWith(query), GATEWAY_SERVER_KEY: "Mid-server-x", ...env };
    return new URL(parseConfig(settings, "/").databaseUrl!).searchParams.get("sslmode");
  };
  assert.equal(modeOf("", {}), null);
  assert.equal(modeOf("", { PGSSLMODE: "verify-full" }), "verify-full");
  assert.equal(modeOf("sslmode=require", { PGSSLMODE: "disable" }), "require");
  assert.equal(modeOf("", { DENO_DEPLOY: "true" }), "prefer");
  assert.equal(modeOf("", { DENO_DEPLOY: "true", PGSSLMODE: "verify-ca" }), "verify-full");
});

Deno.test("DENO_DEPLOY: every value but empty, 0 and false means Deno Deploy", () => {
  const isDenoDeploy = (value?: string) =>
    parseConfig({
      DATABASE_URL: urlWith(""),
      GATEWAY_SERVER_KEY: "Mid-server-x",
      ...value !== undefined && { DENO_DEPLOY: value },
    }, "/").isDenoDeploy;
  for (const value of ["1", "true", "TRUE", "yes", "2"]) assert.equal(isDenoDeploy(value), true);
  for (const value of [undefined, "", " ", "0", "false", "False"]) {
    assert.equal(isDenoDeploy(value), false);
  }
  for (const value of ["1", "true"]) {
    assert.throws(
      () => parseConfig({ DENO_DEPLOY: value }, "/"),
      (error) => error instanceof ConfigError && error.isDenoDeploy,
    );
  }
});

Deno.test("Deno Deploy: requires a database and a server key, and rejects settings that do not work there", () => {
  const problemsOf = (env: Record<string, string>) => {
    try {
      parseConfig({ DENO_DEPLOY: "true", ...env }, "/");
      return [];
    } catch (error) {
      assert.ok(error instanceof ConfigError && error.isDenoDeploy);
      return error.problems.map(({ name }) => name);
    }
  };
  const complete = { DATABASE_URL: urlWith(""), GATEWAY_SERVER_KEY: "Mid-server-x" };
  assert.deepEqual(problemsOf({}), ["DATABASE_URL", "GATEWAY_SERVER_KEY"]);
  assert.deepEqual(problemsOf({ ...complete, QUEUE: "kv" }), ["QUEUE"]);
  assert.deepEqual(problemsOf({ ...complete, DRAIN_SECONDS: "1" }), ["DRAIN_SECONDS"]);
  assert.deepEqual(problemsOf(complete), []);
  assert.equal(parseConfig({ DENO_DEPLOY: "true", ...complete }, "/").drainSeconds, 0);
});
