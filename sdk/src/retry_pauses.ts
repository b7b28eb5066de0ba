/** How long to wait before something is tried again. */

/** Whoever is told to wait for longer had better decide for himself. */
export const LONGEST_PAUSE_MS = 30_000;

/** What `Retry-After` asks for, in seconds or as a date; null where it says nothing. */
export function retryAfterMs(response?: Response): number | null {
  const value = response?.headers.get("Retry-After");
  if (!value) return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(ms, 0);
}

/** Twice as long each time, and never the same for two callers who failed together. */
export function backoffMs(retry: number, firstMs = 500): number {
  return firstMs * 2 ** retry * (0.5 + Math.random() / 2);
}
