/** Fetches the page again after changes and replaces the parts that differ. Also runs the clock. */

import { markOpen, showOpen } from "./details.js";
import { fetchPage, keepFocus } from "./dom.js";

/** Limits the number of fetches during a burst of changes. */
const PAUSE_MS = 400;
const WIB_MS = 7 * 60 * 60 * 1000;

/**
 * Parts and rows as the server last sent them, by id. The document may differ: rows can be expanded
 * or busy.
 */
const seen = new Map();
let isWanted = false;
let isRunning = false;
let clockReadAt = performance.now();

for (const part of document.querySelectorAll("[data-live]")) seen.set(part.id, part.innerHTML);
for (const body of document.querySelectorAll(".transactions tbody")) remember(body);
document.addEventListener("visibilitychange", () => isWanted && refresh());

/** Runs once at a time, at most once per pause, and only while the page is visible. */
export async function refresh() {
  isWanted = true;
  if (isRunning || document.hidden) return;
  isRunning = true;
  while (isWanted) {
    isWanted = false;
    // If the sandbox is down, the first message after reconnecting triggers the next update.
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

/** Updates a field with the server's value, unless the user is editing it. */
function follow(field, { defaultValue }) {
  const isUntouched = field.value === field.defaultValue && field !== document.activeElement;
  if (isUntouched) field.value = defaultValue;
  if (field.value === defaultValue) field.defaultValue = defaultValue;
}

/** Unchanged rows are not touched, so that nothing moves under the pointer. */
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

/** Sets the clock from a fetched page. */
function setClock(fresh) {
  const clock = document.getElementById("clock");
  if (!clock || !fresh) return;
  clock.dataset.now = fresh.dataset.now;
  clockReadAt = performance.now();
  tick();
}

export function tick() {
  const clock = document.getElementById("clock");
  if (!clock) return;
  const passed = (performance.now() - clockReadAt) * Number(clock.dataset.rate);
  const here = new Date(Number(clock.dataset.now) + passed + WIB_MS);
  clock.textContent = here.toISOString().slice(0, 19).replace("T", " ");
}
