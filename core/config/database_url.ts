/** Parses a database URL, and drops the parameters that only other clients understand. */

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
  "target_session_attrs",
  "uselibpqcompat",
  "workaround",
]);

/** Parameters that name files, which the service has no permission to read. */
const FILE_PARAMETERS = ["sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile", "service"];

/** Returns the mode that is used for this text; undefined if there is no such mode. */
export function parseSslMode(text: string): SslMode | undefined {
  return SSL_MODES.find((mode) => mode === text) ?? SSL_MODE_ALIASES[text];
}

/**
 * Changes the parameters so that both PostgreSQL drivers of the service understand them in the same
 * way. Undefined if the URL is not valid, or names a file.
 */
export function parseDatabaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url?.hostname || !/^postgres(ql)?:$/.test(url.protocol) || url.pathname.length < 2) {
    return undefined;
  }
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
  return url.href;
}

/** `ssl=true`, which JDBC and other drivers use, means TLS with a verified certificate. */
function impliedSslMode(ssl: string | null): string | null {
  return ssl === "true" || ssl === "1" ? "verify-full" : ssl;
}

/** Adds the mode to a URL that has none. */
export function withDefaultSslMode(url: string, mode: SslMode): string {
  const parsed = new URL(url);
  if (!parsed.searchParams.has("sslmode")) parsed.searchParams.set("sslmode", mode);
  return parsed.href;
}
