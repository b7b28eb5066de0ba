/** Pages as documents, and a focus that outlives what it was on. */

export async function fetchPage(address) {
  const response = await fetch(address);
  if (!response.ok) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

/** What was in focus and was replaced is found again by its key, or its row takes over. */
export function keepFocus(change) {
  const focused = document.activeElement;
  const key = focused?.dataset?.key;
  const row = focused?.closest("tbody")?.id;
  change();
  if (!key || document.activeElement === focused) return;
  const same = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const heir = same ?? document.getElementById(row ?? "")?.querySelector("[data-open]");
  heir?.focus({ preventScroll: true });
}
