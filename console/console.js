/** Updates the page when something happens: loads it again and replaces its content. */

const { live, liveUrl, events } = document.body.dataset;

/** Events often arrive together, and may arrive all the time. */
const DELAY_MS = 200;
const INTERVAL_MS = 1_000;

const RECONNECT_MS = 5_000;

let wasConnected = false;

if (live) follow();

function follow() {
  const url = new URL(liveUrl, location.href);
  if (live !== "*") url.searchParams.set("resource", live);
  const stream = new EventSource(url);
  for (const name of events.split(" ")) stream.addEventListener(name, refreshSoon);
  stream.addEventListener("open", () => {
    // Events are missed while the connection is lost.
    if (wasConnected) refreshSoon();
    wasConnected = true;
  });
  stream.addEventListener("error", () => {
    // The browser reconnects by itself, but not after an error response.
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, RECONNECT_MS);
  });
  addEventListener("pagehide", () => stream.close());
}

let timer = null;
let startedAt = -Infinity;

function refreshSoon() {
  const wait = Math.max(DELAY_MS, startedAt + INTERVAL_MS - performance.now());
  timer ??= setTimeout(refresh, wait);
}

let requested = 0;
let shown = 0;

async function refresh() {
  timer = null;
  startedAt = performance.now();
  const number = ++requested;
  const response = await fetch(location.href, { redirect: "error" }).catch(() => null);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (number < shown) return;
  shown = number;
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
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  old.replaceWith(fresh);
  for (const [index, table] of fresh.querySelectorAll(".table").entries()) {
    table.scrollLeft = scrolled[index] ?? 0;
  }
  if (focused?.href) {
    [...fresh.querySelectorAll("a")].find(({ href }) => href === focused.href)?.focus();
  }
}
