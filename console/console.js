/** Updates the page when something happens: loads it again and replaces its content. */

const { live, liveUrl, events } = document.body.dataset;

/** How long to wait before the page connects or is loaded again; doubled after each failure. */
const RETRY_MS = { first: 1_000, longest: 30_000 };

/** How long a form that was sent cannot be sent again. */
const SENT_MS = 5_000;

let stream = null;
let retryMs = RETRY_MS.first;
let retryTimer = null;
let refreshTimer = null;
/**
 * Something may have happened while the page did not follow the events. This is so at first, too:
 * the service made the page before the page connected.
 */
let mayBeOutdated = true;

if (live) {
  if (!document.hidden) follow();
  document.addEventListener("visibilitychange", () => {
    // With HTTP/1.1, all tabs together have six connections to a host: a hidden page must use none.
    if (document.hidden) return unfollow();
    retryMs = RETRY_MS.first;
    mayBeOutdated = true;
    follow();
  });
  addEventListener("pagehide", unfollow);
}

function follow() {
  unfollow();
  const url = new URL(liveUrl, location.href);
  if (live !== "*") url.searchParams.set("resource", live);
  stream = new EventSource(url);
  for (const name of events.split(" ")) stream.addEventListener(name, refreshSoon);
  stream.addEventListener("open", () => {
    retryMs = RETRY_MS.first;
    if (mayBeOutdated) refreshSoon();
    mayBeOutdated = false;
  });
  stream.addEventListener("error", ({ target }) => {
    mayBeOutdated = true;
    // The browser connects again after a lost connection, but not after an error response, such as
    // that of a service that is stopping.
    if (target.readyState !== EventSource.CLOSED) return;
    retryTimer = setTimeout(followAgain, retryMs);
    retryMs = Math.min(2 * retryMs, RETRY_MS.longest);
  });
}

function unfollow() {
  stream?.close();
  clearTimeout(retryTimer);
  clearTimeout(refreshTimer);
  refreshTimer = null;
}

/** A refresh that fails or does not end must not keep the page from following. */
function followAgain() {
  refresh();
  follow();
}

/** Several events often arrive together. */
const DELAY_MS = 200;

/** Events may arrive all the time: the page is loaded at most this often. */
const INTERVAL_MS = 1_000;

let startedAt = -Infinity;
let shownAt = -Infinity;
let refreshRetryMs = RETRY_MS.first;

function refreshSoon() {
  const wait = Math.max(DELAY_MS, startedAt + INTERVAL_MS - performance.now());
  refreshTimer ??= setTimeout(refresh, wait);
}

async function refresh() {
  // Events that arrive from now on need another refresh.
  refreshTimer = null;
  startedAt = performance.now();
  const started = startedAt;
  const loaded = await loadPage();
  if (loaded === null) {
    // Otherwise the page would stay outdated until the next event.
    if (!document.hidden) refreshTimer ??= setTimeout(refresh, refreshRetryMs);
    refreshRetryMs = Math.min(2 * refreshRetryMs, RETRY_MS.longest);
    return;
  }
  refreshRetryMs = RETRY_MS.first;
  if (loaded.redirected) {
    // The session has ended.
    location.assign(loaded.url);
    return;
  }
  // A slow response must not replace a newer one.
  if (started < shownAt) return;
  shownAt = started;
  showPage(loaded.page);
}

/** The page as it is now; null if it cannot be loaded, or the connection was lost. */
async function loadPage() {
  try {
    const response = await fetch(location.href, { headers: { "Console-Refresh": "yes" } });
    const { ok, redirected, url } = response;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return ok && page.querySelector("main") ? { page, redirected, url } : null;
  } catch {
    return null;
  }
}

/** The element under the pointer; null: none. */
let pointed = null;
/** The newest page, if it is shown only when the pointer moves away. */
let heldPage = null;

addEventListener("pointerover", ({ target }) => point(target));
addEventListener("pointerout", ({ relatedTarget }) => point(relatedTarget));

function point(element) {
  pointed = element;
  // On a touch screen the click follows after the finger has left.
  if (heldPage && !isAiming()) setTimeout(() => heldPage && showPage(heldPage), DELAY_MS);
}

/** Whether the pointer is over a block with a button that acts: another row could move under it. */
function isAiming() {
  const block = pointed?.closest("main [data-part], main section");
  return Boolean(block?.isConnected && block.querySelector("form[method=post]"));
}

/** Only the parts that have a name are replaced, or everything if the page names none. */
function showPage(page) {
  heldPage = isAiming() ? page : null;
  if (heldPage) return;
  const parts = document.querySelectorAll("main [data-part]");
  if (parts.length === 0) replace(document.querySelector("main"), page.querySelector("main"));
  for (const part of parts) {
    const fresh = page.querySelector(`main [data-part="${part.dataset.part}"]`);
    if (fresh) replace(part, fresh);
  }
}

/** On phones a row is a card, and each cell shows the title of its column. */
function labelCells(content) {
  for (const table of content.querySelectorAll(".cards table")) {
    const titles = [...table.tHead.rows[0].cells].map(({ textContent }) => textContent);
    for (const row of table.tBodies[0].rows) {
      for (const [index, cell] of [...row.cells].entries()) cell.dataset.label = titles[index];
    }
  }
}

labelCells(document);

/** Keeps what the user has opened, scrolled and focused. */
function replace(old, fresh) {
  labelCells(fresh);
  // Would take away what the user is typing.
  if (old.querySelector("input:focus, select:focus, textarea:focus")) return;
  for (const { id } of old.querySelectorAll("details[open][id]")) {
    fresh.querySelector(`#${id}`)?.setAttribute("open", "");
  }
  // Would take away the text that the user has selected.
  if (old.isEqualNode(fresh)) return;
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

/** Whether the user has entered something that a form sends; a credential is not kept. */
let isEdited = false;

addEventListener("input", ({ target }) => {
  if (target.form?.method === "post" && target.type !== "password") isEdited = true;
});

/** After "back" the browser may show the page as it was left, even if the session has ended. */
addEventListener("pageshow", async ({ persisted }) => {
  if (!persisted) return;
  const main = document.querySelector("main");
  main.hidden = true;
  // A reload would take away what the user has entered.
  const loaded = isEdited ? await loadPage() : null;
  if (!loaded || loaded.redirected) return location.reload();
  main.hidden = false;
  for (const form of document.forms) delete form.dataset.sent;
});

document.documentElement.dataset.scripts = "on";

/** Copies the text of the element that the button names. */
document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  getSelection().selectAllChildren(source);
  // Without TLS browsers have no clipboard, and some refuse it; the older command copies the
  // selection.
  const isCopied = await navigator.clipboard?.writeText(source.textContent)
    .then(() => true, () => false);
  if (isCopied || document.execCommand("copy")) button.textContent = button.dataset.copied;
});

/** The page of payments has the search; its address ends with this to focus it. */
const SEARCH = "#q";

/** A slash focuses the search, except while the user types. On other pages it leads there. */
document.addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  if (key !== "/" || ctrlKey || metaKey || altKey) return;
  if (target.isContentEditable || target.closest?.("input, textarea, select")) return;
  const home = document.querySelector("nav a");
  if (!home) return;
  event.preventDefault();
  if (!focusSearch()) location.href = `${home.href}payments/${SEARCH}`;
});

if (location.hash === SEARCH) focusSearch();

function focusSearch() {
  const search = document.querySelector("[role=search] input[type=search]");
  search?.focus();
  search?.select();
  return search !== null;
}
