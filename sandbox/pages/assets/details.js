/** Expanded rows: the details page of a transaction, shown below its row. */

import { fetchPage, keepFocus } from "./dom.js";

/** Shown content of each expanded row, as the server sent it. */
const open = new Map();

export async function toggleDetails(id) {
  if (open.delete(id)) {
    document.getElementById(`t-${id}`).rows[1]?.remove();
    mark(id, false);
    return;
  }
  open.set(id, "");
  await show(id);
}

export async function showOpen() {
  await Promise.all([...open.keys()].map(show));
}

/** Marks expanded rows again, because the server sends rows without the mark. */
export function markOpen() {
  for (const id of open.keys()) mark(id, true);
}

async function show(id) {
  const body = document.getElementById(`t-${id}`);
  const content = body && (await fetchPage(`/transactions/${id}`))?.getElementById("details");
  // The row may have been closed during the request.
  if (!content || !open.has(id)) return;
  mark(id, true);
  const row = body.rows[1] ?? body.insertRow();
  if (row.cells.length > 0 && open.get(id) === content.innerHTML) return;
  open.set(id, content.innerHTML);
  const unfolded = new Set([...row.querySelectorAll("details[open] summary")].map(keyOf));
  content.removeAttribute("id");
  content.removeAttribute("data-live");
  keepFocus(() => {
    const cell = document.createElement("td");
    cell.colSpan = body.rows[0].cells.length;
    cell.append(content);
    row.replaceChildren(cell);
    for (const summary of cell.querySelectorAll("summary")) {
      summary.parentElement.open = unfolded.has(keyOf(summary));
    }
  });
}

function keyOf({ dataset }) {
  return dataset.key;
}

function mark(id, isOpen) {
  const link = document.querySelector(`[data-open="${CSS.escape(id)}"]`);
  link?.setAttribute("aria-expanded", String(isOpen));
}
