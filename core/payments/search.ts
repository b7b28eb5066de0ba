/** The search box: finds payments by what a customer or a colleague says about them. */

import { codeOf, type Database } from "../../db/connection/database.ts";
import {
  type ExaminedMatches,
  hasTrigramIndex,
  hasTrigrams,
  type Matches,
  MAX_MATCHES,
  type PaymentSearch,
  readSummaries,
  searchBeginnings,
  searchExact,
  searchNewest,
  searchParts,
  type SearchTerms,
} from "../../db/payments/search.ts";
import type { Caller } from "../auth/caller.ts";
import { checkCursor } from "../lists/filters.ts";
import type { WalkCursor } from "../lists/page.ts";
import { parseRupiah } from "../money.ts";
import { ownerOfList } from "../records/read.ts";
import type { Service } from "../service.ts";
import type { PaymentPage } from "./read.ts";
import { inTurn } from "./search_turns.ts";
import { summarizePayment } from "./views.ts";

export { MAX_MATCHES };

export interface PaymentSearchInput {
  /** At least 3 characters. */
  q: string;
  /** The owner of the payments. Only staff and viewers can name another user. */
  user_id?: string;
  after: WalkCursor | null;
  limit: number;
}

/** What a text can be, in the order in which answers name it. */
export const SEARCHED_FIELDS = [
  "id",
  "order_id",
  "transaction_id",
  "customer_email",
  "customer_name",
  "customer_phone",
  "va_number",
  "gross_amount",
  "card",
] as const;

export type SearchedField = (typeof SEARCHED_FIELDS)[number];

/**
 * Why older payments that match can be missing:
 *
 * - `matches`: more than `MAX_MATCHES` payments match;
 * - `frequent`: so many payments have the text that not all of them were compared;
 * - `letters`: older payments were compared by beginnings only, because the text has too few
 *   letters A to Z or digits for the trigram index;
 * - `extension`: the same, because the trigram index is missing.
 */
export type SearchLimit = "matches" | "frequent" | "letters" | "extension";

export interface SearchReport {
  /** What the text was compared with. */
  fields: SearchedField[];
  /** Null: no match is missing. */
  limit: SearchLimit | null;
}

export interface FoundPage extends PaymentPage {
  search: SearchReport;
}

/** How much one search may do. */
export interface SearchLimits {
  /** How many of the newest payments are compared one by one; also at most in one statement. */
  examined: number;
  /** How many are compared if the trigram index takes too long, because many payments match. */
  examinedIfFrequent: number;
  /** How long the trigram index may take. */
  partsMs: number;
  /** How long a large statement waits for those of other searches. */
  waitMs: number;
}

export const SEARCH_LIMITS: SearchLimits = {
  examined: 20_000,
  examinedIfFrequent: 200_000,
  partsMs: 800,
  waitMs: 3_000,
};

/** The newest payments that match the text. */
export async function searchPayments(
  { database }: Pick<Service, "database">,
  caller: Caller,
  { q, user_id, after, limit }: PaymentSearchInput,
  limits = SEARCH_LIMITS,
): Promise<FoundPage> {
  const owner = ownerOfList(caller, user_id);
  checkCursor(after, false);
  const terms = readTerms(q.trim());
  const found = await findMatches({ database, caller, search: { owner, terms }, limits });
  const newest = [...new Set(found.ids)].sort().reverse();
  const left = newest.slice(0, MAX_MATCHES).filter((id) => after === null || id < after.id);
  const page = left.slice(0, limit);
  const rows = await database.query((sql) => readSummaries(sql, page), "read found payments");
  return {
    payments: rows.map((row) => summarizePayment(row, caller)),
    next: left.length > limit ? { id: page.at(-1)!, at: null } : null,
    search: {
      fields: fieldsOf(terms),
      limit: newest.length > MAX_MATCHES ? "matches" : found.limit,
    },
  };
}

const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i;

/** What the text can be. */
export function readTerms(text: string): SearchTerms {
  const [, ...id] = text.match(UUID) ?? [];
  const digits = text.replaceAll(/[\s().-]/g, "");
  return {
    text,
    id: id.length > 0 ? id.join("-").toLowerCase() : null,
    phones: phonesOf(digits),
    account: /^\d{4,}$/.test(digits) ? digits : null,
    amount: parseRupiah(text),
    card: /^[*x•]*\d{4}$/i.test(digits) ? digits.slice(-4) : null,
  };
}

/** The keys of a phone number, as `gateway.phone_key` writes them; a missing 62 is added. */
function phonesOf(digits: string): string[] {
  if (!/^\+?\d{4,}$/.test(digits)) return [];
  const key = digits.replace(/^(\+|00)/, "").replace(/^(620|0)/, "62");
  return key.startsWith("8") && !digits.startsWith("+") ? [key, `62${key}`] : [key];
}

function fieldsOf({ id, phones, account, amount, card }: SearchTerms): SearchedField[] {
  const isLeftOut: Partial<Record<SearchedField, boolean>> = {
    id: id === null,
    customer_phone: phones.length === 0,
    va_number: account === null,
    gross_amount: amount === null,
    card: card === null,
  };
  return SEARCHED_FIELDS.filter((field) => !isLeftOut[field]);
}

interface FoundMatches {
  ids: string[];
  limit: SearchLimit | null;
}

/** A search of a caller, and how much it may do. */
interface Search {
  database: Database;
  caller: Caller;
  search: PaymentSearch;
  limits: SearchLimits;
}

/**
 * The newest payments are compared one by one: an owner may have no others, or so many of them
 * match that older ones are not needed. Otherwise the indexes are searched, which have the payments
 * of all owners. If these do not find all matches, more of the newest payments are compared.
 */
async function findMatches(run: Search): Promise<FoundMatches> {
  const { database, search, limits } = run;
  const first = await database.query(
    (sql) => searchNewest(sql, search, FIRST_EXAMINED),
    "search newest payments",
  );
  let newest: Examined = { ...first, count: FIRST_EXAMINED };
  if (first.ids.length >= FREQUENT) newest = await examineOlder(run, newest, limits.examined);
  if (hasEnough(newest)) return { ids: newest.ids, limit: null };
  const exact = await database.query((sql) => searchExact(sql, search), "search exact keys");
  const parts = await findParts(run);
  const hasExact = exact.isComplete || search.owner === null;
  if (!hasExact || parts.limit !== null) {
    const isFrequent = parts.limit === "frequent";
    const max = isFrequent ? limits.examinedIfFrequent : limits.examined;
    newest = await examineOlder(run, newest, max);
  }
  const limit = hasEnough(newest) ? null : parts.limit ?? (hasExact ? null : "frequent");
  return { ids: [...newest.ids, ...exact.ids, ...parts.ids], limit };
}

/** How many of the newest payments are compared with every text. */
const FIRST_EXAMINED = 500;

/** So many of the first payments match that 20,000 are likely to have enough matches. */
const FREQUENT = FIRST_EXAMINED * MAX_MATCHES / 20_000;

interface Examined extends ExaminedMatches {
  /** How many payments were compared. */
  count: number;
}

/** Older matches are not needed, or do not exist. */
function hasEnough({ ids, isComplete }: Matches): boolean {
  return isComplete || ids.length > MAX_MATCHES;
}

/** Continues with older payments until there are enough matches, or `max` were compared. */
async function examineOlder(run: Search, newest: Examined, max: number): Promise<Examined> {
  const { database, caller, search, limits } = run;
  let examined = newest;
  while (!hasEnough(examined) && examined.count < max) {
    const { ids, count, oldestId } = examined;
    const more = Math.min(max - count, limits.examined);
    const older = await inTurn(caller.userId, limits.waitMs, () =>
      database.query(
        (sql) => searchNewest(sql, search, more, oldestId),
        "search older payments",
      ));
    examined = { ...older, ids: [...ids, ...older.ids], count: count + more };
  }
  return examined;
}

/**
 * Finds the text in order ids, email addresses and names: any part of them, if possible. Without a
 * limit, these are the newest matches of the owner.
 */
async function findParts({ database, caller, search, limits }: Search): Promise<FoundMatches> {
  const hasIndex = await database.query(hasTrigramIndex, "find trigram index");
  if (hasIndex && hasTrigrams(search.terms.text)) {
    const parts = await inTurn(
      caller.userId,
      limits.waitMs,
      () => searchPartsInTime(database, search, limits.partsMs),
    );
    return parts === null ? { ids: [], limit: "frequent" } : { ids: parts.ids, limit: null };
  }
  const { ids } = await database.query((sql) => searchBeginnings(sql, search), "search beginnings");
  return { ids, limit: hasIndex ? "letters" : "extension" };
}

const QUERY_CANCELED = "57014";

/** Null: it takes too long. */
async function searchPartsInTime(
  database: Database,
  search: PaymentSearch,
  maxMs: number,
): Promise<Matches | null> {
  try {
    return await database.transaction(async (sql) => {
      await sql.unsafe(`set local statement_timeout = ${maxMs}`);
      return await searchParts(sql, search);
    }, "search parts");
  } catch (error) {
    if (error instanceof Error && codeOf(error.cause) === QUERY_CANCELED) return null;
    throw error;
  }
}
