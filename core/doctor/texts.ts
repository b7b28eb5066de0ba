/** The texts of the doctor in English. The console has the same in Indonesian. */

export const CHECK_NAMES = {
  settings: "Settings",
  keys: "Gateway keys",
  database: "Database",
  privileges: "Database privileges",
  pooling: "Connection pooler",
  search: "Search",
  replication: "Replication",
  writes: "Database writes",
  account: "Gateway account",
  gateway: "Gateway",
  methods: "Payment methods",
  clock: "Clocks",
  public_url: "PUBLIC_URL",
  notification: "Notification",
  body_size: "Large notification",
  stream: "Event stream",
  dashboard_url: "Dashboard's notification URL",
  webhooks: "Webhook endpoints",
  jobs: "Jobs",
  crons: "Schedule",
  publisher: "Event publisher",
  disk: "Free disk",
  backup: "Last backup",
};

export interface FindingText {
  /** A sentence with `{name}` for each value. */
  found: string;
  /** The next step; null: there is nothing to do. */
  next: string | null;
}

/** Those from `certificate` to `other_service` can be found by each request to `PUBLIC_URL`. */
export const FINDINGS = {
  blocked: { found: "Not run, because this check is not ok: {check}.", next: null },
  check_failed: {
    found: "The check itself failed: {problem}.",
    next: "Run the doctor again. If it fails again, report this text.",
  },
  settings_ok: { found: "All settings are valid.", next: null },
  settings_wrong: {
    found: "{problem}",
    next: "Correct the settings, and start the service again (docs/settings.md).",
  },
  keys_embedded: { found: "The sandbox of this machine is used. No money moves.", next: null },
  keys_ok: {
    found: "GATEWAY_ENV is {environment}, and the keys and {host} do not contradict it.",
    next: null,
  },
  keys_wrong_host: {
    found: "GATEWAY_ENV is {environment}, but GATEWAY_BASE_URL leads to {host}.",
    next: "Remove GATEWAY_BASE_URL, or set it to the host of that environment.",
  },
  keys_mixed: {
    found: "One of GATEWAY_SERVER_KEY and GATEWAY_CLIENT_KEY is a sandbox key, the other is not.",
    next: "Copy both keys from the same page of the gateway's dashboard.",
  },
  database_ok: {
    found: "PostgreSQL {version} responds and has all migrations.",
    next: null,
  },
  database_unreachable: {
    found: "The database cannot be used: {problem}.",
    next: "Check that PostgreSQL runs, and that this host may connect to it with DATABASE_URL.",
  },
  database_old: {
    found: "The server is PostgreSQL {version}.",
    next: "Upgrade it to PostgreSQL 15 or newer.",
  },
  database_pending: {
    found: "{count} migrations are not applied.",
    next: "Start the service, or run `deno task migrate`.",
  },
  privileges_ok: { found: "This role may read and change all tables.", next: null },
  privileges_missing: {
    found: "This role may not read and change: {tables}.",
    next: "Grant select, insert, update and delete on all tables of the schema gateway.",
  },
  pooling_none: { found: "Connections lead to the server without a pooler.", next: null },
  pooling_used: {
    found: "Connections lead through a pooler in {mode} mode, which the service supports.",
    next: null,
  },
  pooling_unknown: { found: "The service cannot see whether a pooler is used.", next: null },
  search_ok: {
    found: "Payments are found by any part of order id, email and name.",
    next: null,
  },
  search_by_prefix: {
    found: "The extension pg_trgm could not be used, so older payments are found only by the " +
      "beginning of order id, email and name.",
    next: "Let an administrator run `create extension pg_trgm` in this database, then run " +
      "`deno task migrate` as the role that owns the schema, or restart the service.",
  },
  replication_ok: {
    found: "The server is a primary. Connected standbys: {standbys}.",
    next: null,
  },
  replication_standby: {
    found: "The server is a standby, which accepts no writes.",
    next: "Set DATABASE_URL to an address that always leads to the primary, or name all servers.",
  },
  writes_ok: { found: "The database accepts writes.", next: null },
  writes_refused: {
    found: "The database accepts no writes: {problem}.",
    next: "Look for default_transaction_read_only, a full disk, or a failover in progress.",
  },
  account_ok: { found: "The database belongs to {environment}, merchant {merchant}.", next: null },
  account_unbound: {
    found: "The database belongs to no gateway account yet.",
    next: "Start the service, which binds it.",
  },
  account_other: {
    found: "The database belongs to {stored}, but the settings are for {environment}.",
    next: "Use the settings of that environment, or another database (`deno task account`).",
  },
  gateway_ok: { found: "{host} responds and accepts the server key.", next: null },
  gateway_unreachable: {
    found: "{host} does not respond: {problem}.",
    next: "Allow connections from this host to it (port 443), and check the network and DNS.",
  },
  gateway_key_refused: {
    found: "{host} responds, and refuses the server key (401).",
    next: "Copy GATEWAY_SERVER_KEY again from the dashboard, in the environment of GATEWAY_ENV.",
  },
  gateway_error: {
    found: "{host} responds with an error: {problem}.",
    next:
      "If the error continues, ask the gateway's support whether this host's address is allowed.",
  },
  methods_ok: { found: "The account has: {methods}.", next: null },
  methods_none: {
    found: "The account has no active payment method.",
    next: "Activate payment methods in the gateway's dashboard.",
  },
  methods_unknown: {
    found: "The gateway does not say which methods the account has: {problem}.",
    next: "Look at the payment methods in the gateway's dashboard.",
  },
  clock_ok: { found: "The clocks agree (this host, the database, the gateway).", next: null },
  clock_without_gateway: {
    found: "The clocks of this host and the database agree. The gateway's is not known.",
    next: null,
  },
  clock_database: {
    found: "The database's clock differs from the gateway's by {seconds} s.",
    next: "Synchronize the clock of the database server, for example with NTP.",
  },
  clock_host: {
    found: "This host's clock differs from the database's by {seconds} s.",
    next: "Synchronize the clock of this host, for example with NTP.",
  },
  public_url_missing: {
    found: "PUBLIC_URL is not set, so the gateway sends notifications to the URL in its dashboard.",
    next: "Set PUBLIC_URL to the address under which the gateway reaches this service.",
  },
  public_url_local: {
    found: "PUBLIC_URL is an address of this machine, which the gateway cannot reach.",
    next: "Set PUBLIC_URL to a public https address.",
  },
  public_url_unresolved: {
    found: "The name {host} does not resolve on this host.",
    next: "Check the DNS record, from another network too: the gateway needs it.",
  },
  public_url_unreachable: {
    found: "This host cannot connect to {host}: {problem}.",
    next: "Many networks do not let a host reach its own public address. Run the doctor, or open " +
      "{url}, from another network.",
  },
  public_url_ok: { found: "{url} leads to this service, without a redirect.", next: null },
  certificate: {
    found: "The certificate of {host} is not valid: {problem}.",
    next:
      "Renew or correct the proxy's certificate. The proxy must also send the intermediate certificates.",
  },
  redirect: {
    found: "{url} redirects to {location} (status {status}). The gateway does not follow.",
    next: "Set PUBLIC_URL to the final address, and redirect no path below it in the proxy.",
  },
  wrong_path: {
    found: "{url} responds with 404: the proxy does not forward this path, or changes it.",
    next: "Compare PUBLIC_URL, BASE_PATH and the paths in the proxy's settings.",
  },
  refused: {
    found: "{url} is refused with status {status}, by the proxy or a firewall.",
    next: "Allow requests without credentials from any address to this path.",
  },
  proxy_error: {
    found: "{url} responds with status {status}: the proxy does not reach the service.",
    next: "Check that the service runs, and the address that the proxy forwards to.",
  },
  other_service: {
    found: "{url} responds with status {status}, but not like this service.",
    next: "Check that PUBLIC_URL and the proxy lead to this service.",
  },
  notification_ok: {
    found: "A signed notification arrived in this database, with all headers.",
    next: null,
  },
  notification_signature: {
    found: "The service at {url} refuses the signature: it has another server key.",
    next: "Check that PUBLIC_URL leads to this service, and start it again with these settings.",
  },
  notification_elsewhere: {
    found: "The notification was accepted at {url}, but is not in this database.",
    next: "PUBLIC_URL leads to another installation. Correct it, or the proxy's target.",
  },
  headers_lost: {
    found: "The proxy removed or changed these headers: {headers}.",
    next: "Let the proxy forward all request headers.",
  },
  body_ok: { found: "A notification of {size} KiB arrived completely.", next: null },
  body_limit: {
    found: "A notification of {size} KiB does not reach the service ({problem}).",
    next: "Raise the proxy's limit, for nginx: client_max_body_size 1m.",
  },
  stream_ok: { found: "The event stream sends data without delay.", next: null },
  stream_buffered: {
    found: "The event stream opens, but nothing arrives: the proxy buffers it.",
    next: "Turn buffering off, for nginx: proxy_buffering off.",
  },
  stream_unauthorized: {
    found: "The event stream refuses the API key: the proxy removes the Authorization header.",
    next: "Let the proxy forward the Authorization header.",
  },
  dashboard_unused: { found: "Nothing in use needs the URL in the dashboard.", next: null },
  dashboard_used: {
    found: "The gateway sends notifications of these to the URLs in its dashboard: {uses}.",
    next:
      "Compare the payment, recurring and account notification URLs in the dashboard with {url}.",
  },
  webhooks_none: { found: "There are no webhook endpoints.", next: null },
  webhooks_ok: { found: "All {count} enabled endpoints accept a test event.", next: null },
  webhooks_failing: {
    found: "Endpoints that do not accept a test event: {endpoints}.",
    next: "Check the receiver, then send a test event in the console under Webhooks.",
  },
  webhooks_disabled: {
    found: "The service has disabled {count} endpoints that failed for 24 hours or returned 410.",
    next: "Repair their receivers, and enable them in the console under Webhooks.",
  },
  jobs_ok: { found: "No job waits for a worker, and none has failed.", next: null },
  jobs_waiting: {
    found: "A job has been waiting for a worker for {minutes} minutes.",
    next: "Check that the service runs, and look for errors in its log.",
  },
  jobs_failed: {
    found: "Failed jobs: {count}.",
    next: "Look at them in the console under Jobs, fix the cause, and retry them.",
  },
  crons_ok: { found: "All scheduled tasks run on time.", next: null },
  crons_never: {
    found: "No scheduled task has run yet.",
    next: "Start the service, wait two minutes, and run the doctor again.",
  },
  crons_overdue: {
    found: "Scheduled tasks do not run: {tasks}.",
    next: "Check that an instance runs, and look for tick_failed in its log.",
  },
  crons_failed: {
    found: "The last run of these tasks failed: {tasks}.",
    next: "Read the error in the console under Jobs, Schedule, and fix its cause.",
  },
  publisher_ok: { found: "No event waits to be published.", next: null },
  publisher_behind: {
    found: "Events have been waiting for {seconds} s to be published.",
    next: "Check that the service runs, and look for event_publisher_failed in its log.",
  },
  disk_ok: { found: "{free} GiB are free for the embedded database.", next: null },
  disk_low: {
    found: "Only {free} GiB are free for the embedded database.",
    next: "Free space, or move DATA_DIR to a larger disk.",
  },
  disk_unknown: {
    found: "The disk of the database server cannot be seen from here.",
    next: "Watch its free space with the tools of that server.",
  },
  backup_ok: { found: "The last backup is {hours} hours old.", next: null },
  backup_old: {
    found: "The last backup is {hours} hours old.",
    next: "Run the backup, and find out why it did not run.",
  },
  backup_missing: {
    found: "The file BACKUP_TIME_FILE does not exist or cannot be read.",
    next: "Let each backup touch this file when it has succeeded.",
  },
  backup_unknown: {
    found: "BACKUP_TIME_FILE is not set, so the time of the last backup is not known.",
    next: "Set it to a file that each successful backup touches.",
  },
} satisfies Record<string, FindingText>;
