/** Parses a database URL, and drops the parameters that only other clients understand. */

import { joinServers, serverUrls } from "../../db/connection/server_urls.ts";

/** The modes of encryption that the service uses; the modes of other clients are translated. */
export const SSL_MODES = ["disable", "prefer", "require", "verify-full"] as const;

export type SslMode = (typeof SSL_MODES)[number];

/**
 * Modes of libpq and of other drivers, and the mode that the service uses instead, which is never
 * weaker: `allow` would try without TLS first, and `verify-ca` would not compare the host name.
 */
const SSL_MODE_ALIASES: Record<string, SslMode> = {
  allow: "prefer",
  "no-verify": "require",
  "verify-ca": "verify-full",
};

/**
 * Parameters that providers put into URLs for libpq, Prisma, JDBC and other clients. The drivers of
 * the service would send them to the server as settings, and the server would refuse the
 * connection.
 */
const IGNORED_PARAMETERS = new Set([
  "application_name",
  "channel_binding",
  "client_encoding",
  "connect_timeout",
  "connection_limit",
  "fallback_application_name",
  "gssencmode",
  "keepalives",
  "keepalives_count",
  "keepalives_idle",
  "keepalives_interval",
  "krbsrvname",
  "load_balance_hosts",
  "max_idle_connection_lifetime",
  "max_connection_lifetime",
  "pgbouncer",
  "pool_timeout",
  "prepare_threshold",
  "prepareThreshold",
  "prepared_statements",
  "schema",
  "single_use_connections",
  "socket_timeout",
  "sslaccept",
  "sslnegotiation",
  "statement_cache_size",
  "supa",
  "uselibpqcompat",
  "workaround",
]);

/** Parameters that name files, which the service has no permission to read. */
const FILE_PARAMETERS = ["sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile", "service"];

/**
 * The values of `target_session_attrs` that are accepted. The service needs a server that accepts
 * writes, with each of them. Of several servers it uses only such a one; on a single server that
 * accepts no writes it starts, but is not ready.
 */
const SESSION_ATTRIBUTES = ["any", "primary", "read-write"];

/** Returns the mode that is used for this text; undefined if there is no such mode. */
export function parseSslMode(text: string): SslMode | undefined {
  return SSL_MODES.find((mode) => mode === text) ?? SSL_MODE_ALIASES[text];
}

/**
 * Changes the parameters so that the PostgreSQL driver understands them. Undefined if the URL is
 * not valid; `explainDatabaseUrl` says why.
 */
export function parseDatabaseUrl(text: string): string | undefined {
  const servers: string[] = [];
  for (const server of serverUrls(text)) {
    const parsed = parseServerUrl(server);
    if (parsed === undefined) return undefined;
    servers.push(parsed);
  }
  return joinServers(servers);
}

function parseServerUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url?.hostname || !/^postgres(ql)?:$/.test(url.protocol) || url.pathname.length < 2) {
    return undefined;
  }
  if (namesHostsElsewhere(text) || hasWrongSessionAttributes(url)) return undefined;
  const { searchParams } = url;
  if (searchParams.get("sslrootcert") === "system") {
    searchParams.delete("sslrootcert");
    searchParams.set("sslmode", "verify-full");
  }
  if (FILE_PARAMETERS.some((name) => searchParams.has(name))) return undefined;
  const requestedMode = searchParams.get("sslmode") ?? impliedSslMode(searchParams.get("ssl"));
  searchParams.delete("ssl");
  if (requestedMode) {
    const mode = parseSslMode(requestedMode);
    if (!mode) return undefined;
    searchParams.set("sslmode", mode);
  }
  for (const name of [...searchParams.keys()]) {
    if (IGNORED_PARAMETERS.has(name)) searchParams.delete(name);
  }
  searchParams.delete("target_session_attrs");
  return url.href;
}

/** Why a URL is not valid. Never contains a part of the URL, which may be a password. */
export function explainDatabaseUrl(text: string): string {
  if (namesHostsElsewhere(text)) {
    return "must name its hosts before the database, separated by commas: " +
      "postgres://user@first:5432,second:5432/database";
  }
  const url = URL.parse(serverUrls(text)[0]!);
  if (url && hasWrongSessionAttributes(url)) {
    return "must lead to a server that accepts writes; allowed target_session_attrs values: " +
      SESSION_ATTRIBUTES.join(", ");
  }
  return "must be a postgres:// URL with host and database; allowed sslmode values: disable, " +
    "prefer, require, verify-full; certificate files cannot be named in it, set DENO_CERT instead";
}

/** libpq also accepts the hosts as a parameter, and encoded commas. */
function namesHostsElsewhere(text: string): boolean {
  const hosts = serverUrls(text).map((server) => URL.parse(server)?.hostname ?? "");
  return hosts.some((host) => /%2c/i.test(host)) || /[?&]host=[^&#]*(,|%2c)/i.test(text);
}

function hasWrongSessionAttributes({ searchParams }: URL): boolean {
  const wanted = searchParams.get("target_session_attrs");
  return wanted !== null && !SESSION_ATTRIBUTES.includes(wanted);
}

/** `ssl=true`, which JDBC and other drivers use, means TLS with a verified certificate. */
function impliedSslMode(ssl: string | null): string | null {
  return ssl === "true" || ssl === "1" ? "verify-full" : ssl;
}

/** Adds the mode to a URL that has none. */
export function withDefaultSslMode(url: string, mode: SslMode): string {
  return joinServers(
    serverUrls(url).map((server) => {
      const parsed = new URL(server);
      if (!parsed.searchParams.has("sslmode")) parsed.searchParams.set("sslmode", mode);
      return parsed.href;
    }),
  );
}
