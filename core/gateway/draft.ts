/** What an operation wants sent; whatever must never be sent is refused here. */

export interface Draft {
  method: "GET" | "POST" | "PATCH";
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: object;
  /** GETs that create something are none. */
  isRead?: boolean;
  /** The name of the header that takes an idempotency key, where the gateway knows one. */
  keyHeader?: "Idempotency-Key" | "X-Idempotency-Key";
  /** False: the client key in the query is all the gateway wants to see. */
  usesServerKey?: boolean;
  secrets?: string[];
}

export function get(path: string, query?: Draft["query"]): Draft {
  return { method: "GET", path, query };
}

export function post(path: string, body?: object): Draft {
  return { method: "POST", path, body };
}

export function patch(path: string, body: object): Draft {
  return { method: "PATCH", path, body };
}

/** A path with ids in it: path`/v2/${orderId}/status`. */
export function path(parts: TemplateStringsArray, ...ids: string[]): string {
  return String.raw({ raw: parts }, ...ids.map(segment));
}

/** An id that is part of a path and can never become another path. */
function segment(id: string): string {
  // Dots are no use encoded either: a URL takes `%2e%2e` for the folder above, too.
  if (typeof id !== "string" || id === "" || id === "." || id === ".." || !id.isWellFormed()) {
    throw new TypeError("An id for the gateway must be text, and neither empty nor dots alone");
  }
  return encodeURIComponent(id);
}

/** Rupiah have no fractions, and the gateway takes none. */
export function wholeAmount(amount: number): number {
  if (Number.isSafeInteger(amount) && amount > 0) return amount;
  throw new TypeError("An amount must be a whole number above 0");
}
