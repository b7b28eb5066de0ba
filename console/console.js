/** Updates the page when something happens: loads it again and replaces its content. */

const { live, liveUrl, events } = document.body.dataset;

if (live) follow();

function follow() {
  const url = new URL(liveUrl, location.href);
  if (live !== "*") url.searchParams.set("resource", live);
  const stream = new EventSource(url);
  for (const name of events.split(" ")) stream.addEventListener(name, refreshSoon);
  addEventListener("pagehide", () => stream.close());
}

/** Several events often arrive together. */
const DELAY_MS = 200;

/** Events may arrive all the time: the page is loaded at most this often. */
const INTERVAL_MS = 1_000;

let timer = null;
let startedAt = -Infinity;
let shownAt = -Infinity;

function refreshSoon() {
  const wait = Math.max(DELAY_MS, startedAt + INTERVAL_MS - performance.now());
  timer ??= setTimeout(refresh, wait);
}

async function refresh() {
  // Events that arrive from now on need another refresh.
  timer = null;
  startedAt = performance.now();
  const started = startedAt;
  const response = await fetch(location.href, { redirect: "error" }).catch(() => null);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  // A slow response must not replace a newer one.
  if (started < shownAt) return;
  shownAt = started;
  showPage(page);
}

/** Only the parts that have a name are replaced, or everything if the page names none. */
function showPage(page) {
  const parts = document.querySelectorAll("main [data-part]");
  if (parts.length === 0) replace(document.querySelector("main"), page.querySelector("main"));
  for (const part of parts) {
    const fresh = page.querySelector(`main [data-part="${part.dataset.part}"]`);
    if (fresh) replace(part, fresh);
  }
}

/** Keeps what the user has opened, scrolled and focused. */
function replace(old, fresh) {
  // Would take away what the user is typing.
  if (old.querySelector("input:focus, select:focus, textarea:focus")) return;
  for (const { id } of old.querySelectorAll("details[open][id]")) {
    fresh.querySelector(`#${id}`)?.setAttribute("open", "");
  }
  const scrolled = [...old.querySelectorAll(".table")].map(({ scrollLeft }) => scrollLeft);
  const focused = old.contains(document.activeElement) ? document.activeElement.href : null;
  old.replaceWith(fresh);
  for (const [index, table] of [...fresh.querySelectorAll(".table")].entries()) {
    table.scrollLeft = scrolled[index] ?? 0;
  }
  if (focused) [...fresh.querySelectorAll("a")].find(({ href }) => href === focused)?.focus();
}
