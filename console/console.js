/** Updates the page when something happens: loads it again and replaces its content. */

const { live, liveUrl, events } = document.body.dataset;

/** How long to wait before the page connects again; doubled after each failure. */
const RETRY_MS = { first: 1_000, longest: 30_000 };

/** How long a form that was sent cannot be sent again. */
const SENT_MS = 5_000;

let retryMs = RETRY_MS.first;
let hasConnected = false;
let isLeaving = false;

if (live) follow();

function follow() {
  const url = new URL(liveUrl, location.href);
  if (live !== "*") url.searchParams.set("resource", live);
  const stream = new EventSource(url);
  for (const name of events.split(" ")) stream.addEventListener(name, refreshSoon);
  stream.addEventListener("open", () => {
    retryMs = RETRY_MS.first;
    // Something may have happened while the page was not connected.
    if (hasConnected) refreshSoon();
    hasConnected = true;
  });
  stream.addEventListener("error", () => {
    // The browser connects again after a lost connection, but not after an error response, such as
    // that of a service that is stopping.
    if (stream.readyState === EventSource.CLOSED && !isLeaving) followLater();
  });
  addEventListener("pagehide", () => {
    isLeaving = true;
    stream.close();
  });
}

async function followLater() {
  await new Promise((resolve) => setTimeout(resolve, retryMs));
  retryMs = Math.min(2 * retryMs, RETRY_MS.longest);
  await refresh();
  if (!isLeaving) follow();
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
  const headers = { "Console-Refresh": "yes" };
  const response = await fetch(location.href, { headers }).catch(() => null);
  if (!response?.ok) return;
  if (response.redirected) {
    // The session has ended.
    location.assign(response.url);
    return;
  }
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

/** A second click must not send a form again: the browser would not show the first response. */
addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
  // If the page stays, the form can be sent again.
  setTimeout(() => delete event.target.dataset.sent, SENT_MS);
});

/** After "back" the browser may show the page as it was left. */
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.forms) delete form.dataset.sent;
});

document.documentElement.dataset.scripts = "on";

/** Copies the text of the element that the button names. */
document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  getSelection().selectAllChildren(source);
  // Without TLS, browsers have no clipboard; then the older command copies the selection.
  const isCopied = navigator.clipboard
    ? await navigator.clipboard.writeText(source.textContent).then(() => true, () => false)
    : document.execCommand("copy");
  if (isCopied) button.textContent = button.dataset.copied;
});
