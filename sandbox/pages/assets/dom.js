/** Fetches pages as documents, and keeps the focus when elements are replaced. */

export async function fetchPage(url) {
  const response = await fetch(url);
  if (!response.ok) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

/** If the focused element was replaced, focuses its successor with the same key, or the row. */
export function keepFocus(change) {
  const focused = document.activeElement;
  const key = focused?.dataset?.key;
  const row = focused?.closest("tbody")?.id;
  change();
  if (!key || document.activeElement === focused) return;
  const same = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const successor = same ?? document.getElementById(row ?? "")?.querySelector("[data-open]");
  successor?.focus({ preventScroll: true });
}
