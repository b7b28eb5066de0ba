/** The ids that responses returned, so that many requests are about existing records. */

import type { Random } from "../../sandbox/engine/random.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import { type Operation, OPERATIONS } from "./document.ts";
import { chance, pick } from "./values.ts";

export interface Entry {
  /** The values of the path parameters that lead to the record. */
  params: Record<string, string>;
  /** The user that the record belongs to; null if unknown. */
  owner: string | null;
  facts: Json;
}

/** Only the newest entries of a collection are kept, because a run can have a million requests. */
const MAX_ENTRIES = 300;
const MAX_OWNERS = 20_000;
const MAX_CURSORS = 20;

/** The members of a record that decide which requests about it can succeed. */
const FACTS = [
  "allowed_actions",
  "event_id",
  "gateway_invoice_id",
  "gateway_subscription_id",
  "gross_amount",
  "is_pending",
  "order_id",
  "payment_type",
  "resolved_at",
  "result",
  "status",
  "task",
  "transaction_id",
  "transaction_status",
];

/** Paths that begin otherwise than the collection of their records. */
const COLLECTIONS: Record<string, string> = {
  "/charge/": "/payments/",
  "/timelines/payments/": "/payments/",
  "/timelines/invoices/": "/invoices/",
  "/timelines/subscriptions/": "/subscriptions/",
  "/timelines/checkouts/": "/checkouts/",
  "/reviews/": "/payments/",
};

/** By operation, whether it can succeed with a record. */
const SUITABLE: Record<string, (facts: Json) => boolean> = {
  markRefundDenied: ({ status }) => status === "pending",
  cancelCheckout: ({ status }) => status === "open",
  voidInvoice: ({ status }) => status === "sent",
  updateSubscription: ({ status }) => status === "active",
  changeSubscription: ({ status }) => status === "active" || status === "disabled",
  resolveReconciliationDifference: ({ resolved_at }) => !resolved_at,
  reopenReconciliationDifference: ({ resolved_at }) => resolved_at,
  takeOverReconciliationDifference: ({ result }) => result === "missing_here",
  takeOverReconciliation: ({ status }) => status === "succeeded",
  retryJob: ({ status, task }) => status === "failed" && !/charge/.test(task),
  ...Object.fromEntries(
    ["cancel", "expire", "capture", "refund", "approve", "deny"].map((action) => [
      `${action}Payment`,
      ({ allowed_actions }: Json) => allowed_actions?.includes(action),
    ]),
  ),
};

/** The path of the collection whose records a path is about; null if there is none. */
export function collectionOf(path: string): string | null {
  const record = path.match(/^(.*\/)\{(?!action_name)\w+\}\//)?.[1];
  return record === undefined ? null : COLLECTIONS[record] ?? record;
}

/** The parameter that names a record of the collection. */
const recordParameters = new Map(OPERATIONS.flatMap(({ path }) => {
  const found = path.match(/^(.*\/)\{((?!action_name)\w+)\}\//);
  return found ? [[found[1]!, found[2]!]] : [];
}));

export class Pool {
  readonly #collections = new Map<string, Map<string, Entry>>();
  readonly #owners = new Map<string, string>();
  readonly #cursors = new Map<string, string[]>();
  readonly #reserved: string[];

  /** The prefixes of the keys in use are never given to a request, which could revoke them. */
  constructor(reserved: string[]) {
    this.#reserved = reserved;
  }

  /** The user that owns a record of this id; undefined if unknown. */
  ownerOf(id: string): string | undefined {
    return this.#owners.get(id);
  }

  size(collection: string): number {
    return this.#collections.get(collection)?.size ?? 0;
  }

  cursor(random: Random, operation: Operation): string | null {
    const cursors = this.#cursors.get(operation.id) ?? [];
    return cursors.length > 0 ? pick(random, cursors) : null;
  }

  /** A record for the operation: often one for which it can succeed, rarely one of another user. */
  find(random: Random, operation: Operation, user: string | null): Entry | null {
    const collection = collectionOf(operation.path);
    return collection === null ? null : this.pick(random, collection, user, SUITABLE[operation.id]);
  }

  pick(
    random: Random,
    collection: string,
    user: string | null,
    isSuitable?: (facts: Json) => boolean,
  ): Entry | null {
    const all = [...this.#collections.get(collection)?.values() ?? []];
    const own = user !== null && chance(random, 85)
      ? all.filter(({ owner }) => owner === user)
      : all;
    const suitable = isSuitable && chance(random, 80)
      ? own.filter(({ facts }) => isSuitable(facts))
      : [];
    const entries = suitable.length > 0 ? suitable : own;
    if (entries.length === 0) return null;
    // The newest half of the time, because old records have reached their last state.
    return chance(random, 50)
      ? entries.at(-1 - random.below(Math.min(5, entries.length)))!
      : pick(random, entries);
  }

  /** Takes over the records of a successful response. `user` is the caller, null if it sees all. */
  learn(
    operation: Operation,
    params: Record<string, string>,
    body: Json,
    options: { user: string | null; link?: string | null },
  ): void {
    const { user, link } = options;
    const cursor = link?.match(/[?&]cursor=([^&>]+)/)?.[1];
    if (cursor) {
      const cursors = this.#cursors.get(operation.id) ?? [];
      this.#cursors.set(operation.id, [...cursors, decodeURIComponent(cursor)].slice(-MAX_CURSORS));
    }
    if (operation.method === "DELETE") return this.forget(operation, params);
    // The response of an asynchronous request is a job.
    if (body?.task !== undefined) return this.#add("/jobs/", {}, body, user);
    if (body?.refund?.id) this.#add("/refunds/", {}, body.refund, user);
    const list = COLLECTIONS[operation.path] ?? operation.path;
    const collection = collectionOf(operation.path);
    // Some responses have a payment next to other members.
    const single = body?.id === undefined && body?.payment ? body.payment : body;
    if (recordParameters.has(list)) {
      const records = Array.isArray(body) ? body : [single];
      for (const record of records) this.#add(list, params, record, user);
    } else if (collection !== null && Object.values(params).includes(`${single?.id}`)) {
      this.#add(collection, params, single, user);
    }
  }

  /** Removes the record that the path names, because it does not exist (any more). */
  forget({ path }: Operation, params: Record<string, string>): void {
    const collection = collectionOf(path);
    if (collection !== null) this.#collections.get(collection)?.delete(keyOf(collection, params));
  }

  #add(collection: string, params: Record<string, string>, record: Json, user: string | null) {
    const name = recordParameters.get(collection)!;
    const id = record?.[name === "prefix" ? "prefix" : "id"];
    if (id === undefined || this.#reserved.includes(id)) return;
    const owner = record.user_id ?? user;
    const entries = this.#collections.get(collection) ?? new Map<string, Entry>();
    this.#collections.set(collection, entries);
    const path = { ...params, [name]: `${id}` };
    const key = keyOf(collection, path);
    const known = entries.get(key);
    const facts = Object.fromEntries(
      FACTS.flatMap((fact) => record[fact] === undefined ? [] : [[fact, record[fact]]]),
    );
    entries.set(key, {
      params: path,
      owner: known?.owner ?? owner,
      facts: { ...known?.facts, ...facts },
    });
    removeOldest(entries, MAX_ENTRIES);
    // Keys and numbers are no ids that only one user may see.
    if (owner === null || typeof id !== "string" || name === "prefix") return;
    if (!this.#owners.has(id)) this.#owners.set(id, owner);
    removeOldest(this.#owners, MAX_OWNERS);
  }
}

/** The values of the parameters in the path of a record. */
function keyOf(collection: string, params: Record<string, string>): string {
  const names = [...collection.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return [...names, recordParameters.get(collection)!].map((name) => params[name]).join(" ");
}

function removeOldest(entries: Map<string, unknown>, max: number): void {
  while (entries.size > max) entries.delete(entries.keys().next().value!);
}
