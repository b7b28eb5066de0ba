/** The search box: finds payments by what a customer or a colleague says about them. */

import { createLimiter } from "../../concurrency/limiter.ts";
import { codeOf, type Database } from "../../db/connection/database.ts";
import {
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

export interface SearchReport {
  /** What the text was compared with. */
  fields: SearchedField[];
  /** More payments match than the newest `MAX_MATCHES`, or than could be found in time. */
  hasMore: boolean;
  /** Older payments were compared by beginnings only, because the trigram index is missing. */
  isByPrefix: boolean;
}

export interface FoundPage extends PaymentPage {
  search: SearchReport;
}

/** The newest payments that match the text. */
export async function searchPayments(
  { database }: Service,
  caller: Caller,
  { q, user_id, after, limit }: PaymentSearchInput,
): Promise<FoundPage> {
  const owner = ownerOfList(caller, user_id);
  checkCursor(after, false);
  const terms = readTerms(q.trim());
  const found = await findMatches(database, { owner, terms });
  const newest = [...new Set(found.ids)].sort().reverse();
  const left = newest.slice(0, MAX_MATCHES).filter((id) => after === null || id < after.id);
  const page = left.slice(0, limit);
  const rows = await database.query((sql) => readSummaries(sql, page), "read found payments");
  return {
    payments: rows.map((row) => summarizePayment(row, caller)),
    next: left.length > limit ? { id: page.at(-1)!, at: null } : null,
    search: {
      fields: fieldsOf(terms),
      hasMore: newest.length > MAX_MATCHES || !found.isComplete,
      isByPrefix: found.isByPrefix,
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

/** How many of the newest payments are compared with every text. */
const FIRST_EXAMINED = 500;

/** How many are compared at most, if the text is frequent or the indexes do not find all. */
const MAX_EXAMINED = 20_000;

/** So many of the first payments match that `MAX_EXAMINED` are likely to have enough matches. */
const FREQUENT = FIRST_EXAMINED * MAX_MATCHES / MAX_EXAMINED;

/** Statements that can take a second. More at a time would take connections from charges. */
const largeStatements = createLimiter(2);

async function runLarge<T>(work: () => Promise<T>): Promise<T> {
  const release = await largeStatements.acquire();
  try {
    return await work();
  } finally {
    release();
  }
}

interface FoundMatches extends Matches {
  isByPrefix: boolean;
}

interface FoundParts extends FoundMatches {
  /** If not all matches were found, whether these are the newest of all owners. */
  areNewest: boolean;
}

/**
 * The newest payments are compared one by one: an owner may have no others, or so many of them
 * match that older ones are not needed. Otherwise the indexes are searched, which have the payments
 * of all owners. If they have more matches than can be read, those of the owner may be missing.
 */
async function findMatches(database: Database, search: PaymentSearch): Promise<FoundMatches> {
  const examine = (count: number) =>
    database.query((sql) => searchNewest(sql, search, count), "search newest payments");
  const examineMany = () => runLarge(() => examine(MAX_EXAMINED));
  let newest = await examine(FIRST_EXAMINED);
  const isFrequent = newest.ids.length >= FREQUENT;
  if (!newest.isComplete && isFrequent) newest = await examineMany();
  if (newest.isComplete || newest.ids.length > MAX_MATCHES) return { ...newest, isByPrefix: false };
  const exact = await database.query((sql) => searchExact(sql, search), "search exact keys");
  const parts = await findParts(database, search);
  const isComplete = exact.isComplete && parts.isComplete;
  const hasAll = isComplete || search.owner === null && parts.areNewest;
  if (!hasAll && !isFrequent) newest = await examineMany();
  return {
    ids: [...newest.ids, ...exact.ids, ...parts.ids],
    isComplete: isComplete || newest.isComplete,
    isByPrefix: parts.isByPrefix,
  };
}

/** Finds the text in order ids, email addresses and names: any part of them, if possible. */
async function findParts(database: Database, search: PaymentSearch): Promise<FoundParts> {
  const hasIndex = await database.query(hasTrigramIndex, "find trigram index");
  if (hasIndex && hasTrigrams(search.terms.text)) {
    const parts = await runLarge(() => withTimeout(database, search));
    const found = parts ?? { ids: [], isComplete: false };
    return { ...found, areNewest: parts !== null, isByPrefix: false };
  }
  const found = await database.query((sql) => searchBeginnings(sql, search), "search beginnings");
  return { ...found, areNewest: found.isComplete, isByPrefix: !hasIndex };
}

/** A text that a large part of millions of payments has can take longer. */
const PARTS_MS = 800;

const QUERY_CANCELED = "57014";

/** Null: it takes too long. */
async function withTimeout(database: Database, search: PaymentSearch): Promise<Matches | null> {
  try {
    return await database.transaction(async (sql) => {
      await sql.unsafe(`set local statement_timeout = ${PARTS_MS}`);
      return await searchParts(sql, search);
    }, "search parts");
  } catch (error) {
    if (error instanceof Error && codeOf(error.cause) === QUERY_CANCELED) return null;
    throw error;
  }
}
