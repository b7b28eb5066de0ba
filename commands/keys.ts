/** `deno task keys …`: creates, lists and revokes API keys, whether the service runs or not. */

import { parseArgs } from "node:util";
import { displayPrefix } from "../core/secrets/api_key.ts";
import { createKey, type KeyOwner } from "../core/auth/api_keys.ts";
import { isPrintableText, roleOf } from "../core/auth/caller.ts";
import { ORDER_PREFIX, ORDER_PREFIX_RULE } from "../core/auth/order_prefix.ts";
import type { Config } from "../core/config/config.ts";
import { ServiceError } from "../core/errors.ts";
import { type ApiKey, listApiKeys, revokeApiKey } from "../db/access/api_keys.ts";
import type { Database } from "../db/connection/database.ts";
import { openCommandDatabase } from "./migrate.ts";
import { Failure } from "./terminal.ts";

const USAGE = `Usage:
  keys create --user ID [--staff | --viewer] [--name TEXT] [--order-prefix TEXT]
                       create a key and print it once; a viewer sees what staff see, and changes nothing;
                       with a prefix, the user's order ids begin with it, and those of others do not
  keys list            list all keys
  keys revoke PREFIX   revoke a key; takes effect within 5 seconds`;

type Action = (database: Database) => Promise<void>;

export async function run(readConfig: () => Config, args: string[]): Promise<void> {
  const action = parseAction(args);
  await using opened = await openCommandDatabase(readConfig());
  await action(opened.database);
}

function parseAction([verb, ...rest]: string[]): Action {
  const { values, positionals } = parse(rest);
  const [prefix, ...more] = positionals;
  if (verb === "create" && values.user !== undefined && positionals.length === 0) {
    const { user: userId, staff: isStaff = false, viewer: isViewer = false, name = null } = values;
    const orderPrefix = values["order-prefix"] ?? null;
    return create({ userId, isStaff, isViewer, name, orderPrefix });
  }
  const hasOptions = Object.keys(values).length > 0;
  if (verb === "list" && positionals.length === 0 && !hasOptions) return list;
  if (verb === "revoke" && prefix && more.length === 0 && !hasOptions) return revoke(prefix);
  throw new Failure(USAGE);
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        user: { type: "string" },
        staff: { type: "boolean" },
        viewer: { type: "boolean" },
        name: { type: "string" },
        "order-prefix": { type: "string" },
      },
    });
  } catch {
    throw new Failure(USAGE);
  }
}

function create(owner: KeyOwner): Action {
  const { userId, isStaff, isViewer, name, orderPrefix = null } = owner;
  if (isStaff && isViewer) throw new Failure("A key cannot be both --staff and --viewer. Use one.");
  if (!isPrintableText(userId) || (name !== null && !isPrintableText(name))) {
    throw new Failure("--user and --name must be 1-255 printable characters.");
  }
  if (orderPrefix !== null) {
    if (isStaff || isViewer) throw new Failure("--order-prefix is only for keys of users.");
    if (!ORDER_PREFIX.test(orderPrefix)) throw new Failure(`--order-prefix ${ORDER_PREFIX_RULE}.`);
  }
  return async (database) => {
    console.log(await createKey(database, owner).catch(explain));
    console.error("Store this key now. It cannot be shown again.");
  };
}

function explain(error: unknown): never {
  throw error instanceof ServiceError ? new Failure(error.detail ?? error.code) : error;
}

const list: Action = async (database) => {
  const keys = await database.query(listApiKeys);
  const rows = [
    ["PREFIX", "USER", "ROLE", "NAME", "ORDER PREFIX", "CREATED", "LAST USED", "STATE"],
    ...keys.map(listRow),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    console.log(row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd());
  }
};

function listRow(key: ApiKey): string[] {
  return [
    key.prefix,
    key.user_id,
    roleOf({ isStaff: key.is_staff, isViewer: key.is_viewer }),
    key.name ?? "-",
    key.order_prefix ?? "-",
    time(key.created_at),
    time(key.last_used_at),
    key.revoked_at
      ? `revoked ${time(key.revoked_at)}`
      : key.is_development
      ? "development"
      : "valid",
  ];
}

function time(date: Date | null): string {
  return date ? date.toISOString().slice(0, 16) + "Z" : "never";
}

function revoke(text: string): Action {
  // Accepts the whole key as well.
  const prefix = displayPrefix(text);
  return async (database) => {
    const key = await database.query((sql) => revokeApiKey(sql, prefix));
    if (!key) throw new Failure(`No key with prefix ${prefix}. Run \`keys list\` to see all keys.`);
    console.log(`Revoked ${prefix} of user ${key.user_id}.`);
  };
}
