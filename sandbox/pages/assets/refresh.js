/** Fetches the page anew when something has changed, and puts what is new in its place. */

import { setClock } from "./clock.js";
import { markOpen, showOpen } from "./details.js";
import { fetchPage, keepFocus } from "./dom.js";

/** A thousand changes in a burst make a few fetches, not a thousand. */
const PAUSE_MS = 400;

/** Parts and rows as the server last wrote them, by id; in the page they may be open or busy. */
const seen = new Map();
let isWanted = false;
let isRunning = false;

for (const part of document.querySelectorAll("[data-live]")) seen.set(part.id, part.innerHTML);
for (const body of document.querySelectorAll(".transactions tbody")) remember(body);
document.addEventListener("visibilitychange", () => isWanted && refresh());

/** One at a time, and never twice within the pause; a page nobody sees waits. */
export async function refresh() {
  isWanted = true;
  if (isRunning || document.hidden) return;
  isRunning = true;
  while (isWanted) {
    isWanted = false;
    // Where the sandbox is away, the next message tells that it is back.
    await update().catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  isRunning = false;
}

async function update() {
  const fresh = await fetchPage(location.href);
  if (!fresh) return;
  keepFocus(() => {
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = fresh.getElementById(part.id);
      if (next) swap(part, next);
    }
  });
  for (const field of document.querySelectorAll("[data-follow]")) {
    follow(field, fresh.getElementById(field.id));
  }
  setClock(fresh.getElementById("clock"));
  await showOpen();
}

function swap(part, next) {
  const table = part.querySelector("table.transactions");
  const nextTable = next.querySelector("table.transactions");
  const hasChanged = seen.get(part.id) !== next.innerHTML;
  seen.set(part.id, next.innerHTML);
  if (table && nextTable) merge(table, nextTable);
  else if (hasChanged) {
    for (const body of nextTable?.tBodies ?? []) remember(body);
    part.replaceChildren(...next.childNodes);
  }
}

/** A field follows the sandbox, unless somebody has begun to type in it. */
function follow(field, { defaultValue }) {
  const isUntouched = field.value === field.defaultValue && field !== document.activeElement;
  if (isUntouched) field.value = defaultValue;
  if (field.value === defaultValue) field.defaultValue = defaultValue;
}

/** Rows that did not change stay untouched: nothing moves under a pointer or a reading eye. */
function merge(table, next) {
  const wanted = new Set([...next.tBodies].map(({ id }) => id));
  for (const body of [...table.tBodies]) if (!wanted.has(body.id)) body.remove();
  let place = table.tBodies[0] ?? null;
  for (const body of [...next.tBodies]) {
    const known = document.getElementById(body.id);
    const hasChanged = seen.get(body.id) !== body.rows[0].outerHTML;
    remember(body);
    if (!known) {
      table.insertBefore(body, place);
      continue;
    }
    if (hasChanged) known.rows[0].replaceWith(body.rows[0]);
    if (known !== place) table.insertBefore(known, place);
    place = known.nextElementSibling;
  }
  markOpen();
}

function remember(body) {
  seen.set(body.id, body.rows[0].outerHTML);
}
