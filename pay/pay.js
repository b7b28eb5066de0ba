/** Makes the payment page comfortable: live updates, time left, copy buttons. All work without. */

/** How often the service is asked where server-sent events do not pass. */
const POLL_MS = 3_000;

/** A proxy may hold events back: without one after this time, the service is asked as well. */
const SILENCE_MS = 5_000;

/** How long a form that was sent cannot be sent again. */
const SENT_MS = 5_000;

/** How long a copy button says that it has copied. */
const COPIED_MS = 2_000;

let page = document.getElementById("page");
let stream = null;
let silenceTimer = 0;
let pollTimer = 0;

/** How far the service's clock is ahead of the device's, which is often wrong. */
const clockOffset = Number(page.dataset.now) - Date.now();

document.documentElement.dataset.scripts = "on";
countDown();
setInterval(countDown, 1_000);
follow();

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return unfollow();
  // The customer comes back from the app of the bank, often with the payment made.
  compareState();
  follow();
});
addEventListener("pagehide", unfollow);
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  for (const form of document.forms) delete form.dataset.sent;
  compareState();
  follow();
});
addEventListener("online", compareState);

/** Waits for changes, unless the payment is complete. */
function follow() {
  unfollow();
  if (!page.dataset.live || document.hidden) return;
  silenceTimer = setTimeout(poll, SILENCE_MS);
  stream = new EventSource(`${page.dataset.path}/live`);
  stream.addEventListener("message", ({ data }) => {
    stopPolling();
    compareWith(data);
  });
  stream.addEventListener("error", () => {
    // The browser connects again by itself, except after an error response.
    if (!pollTimer) poll();
  });
}

function unfollow() {
  if (stream) stream.close();
  stream = null;
  stopPolling();
}

function stopPolling() {
  clearTimeout(silenceTimer);
  clearTimeout(pollTimer);
  pollTimer = 0;
}

async function poll() {
  clearTimeout(pollTimer);
  const timer = pollTimer = setTimeout(() => {}, POLL_MS);
  await compareState();
  // Another poll or an event may have taken over during the request.
  if (timer === pollTimer) pollTimer = setTimeout(poll, POLL_MS);
}

/** Whether the page shows the current state; null if the service cannot be reached. */
async function compareState() {
  if (!page.dataset.live) return true;
  try {
    const response = await fetch(`${page.dataset.path}/state`, { cache: "no-store" });
    if (!response.ok) return null;
    return await compareWith((await response.text()).trim());
  } catch {
    return null;
  }
}

async function compareWith(state) {
  if (state === page.dataset.state) return true;
  const response = await fetch(page.dataset.url, { cache: "no-store" }).catch(() => null);
  const text = response && response.ok ? await response.text().catch(() => "") : "";
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const content = fresh.getElementById("page");
  // The connection was lost, or another update was faster.
  if (!content || content.dataset.state === page.dataset.state) return null;
  document.title = fresh.title;
  replacePage(content);
  return false;
}

/** Keeps what the customer has opened and typed, and where the focus was. */
function replacePage(content) {
  const focused = page.contains(document.activeElement) ? document.activeElement : null;
  for (const { id } of page.querySelectorAll("details[open][id]")) {
    const details = content.querySelector(`#${id}`);
    if (details) details.open = true;
  }
  const phone = page.querySelector("#phone");
  const freshPhone = content.querySelector("#phone");
  if (phone && freshPhone) freshPhone.value = phone.value;
  const isSameScreen = page.className === content.className;
  page.replaceWith(content);
  page = content;
  const heading = page.querySelector("h1");
  if (focused) (findLike(focused) || heading).focus();
  if (!isSameScreen) scrollTo(0, 0);
  document.getElementById("announcement").textContent = heading.textContent;
  countDown();
  if (!page.dataset.live) unfollow();
}

/** The element of the new page that stands for one of the old page. */
function findLike({ id, tagName, parentElement }) {
  if (id) return document.getElementById(id);
  return tagName === "SUMMARY" ? document.querySelector(`#${parentElement.id} > summary`) : null;
}

function countDown() {
  for (const element of page.querySelectorAll("[data-deadline]")) {
    const { deadline, days } = element.dataset;
    const left = Math.max(0, Math.ceil((deadline - Date.now() - clockOffset) / 1_000));
    const text = formatTime(left, days);
    if (element.textContent !== text) element.textContent = text;
    element.classList.toggle("soon", left < 300);
    if (left === 0 && !element.dataset.over) {
      element.dataset.over = "yes";
      compareState();
    }
  }
}

/** Seconds as `03:04`, `23:03:04`, or days if there are two or more. */
function formatTime(seconds, days) {
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  const minutes = `${two(seconds % 3_600 / 60)}:${two(seconds % 60)}`;
  if (seconds < 3_600) return minutes;
  if (seconds < 172_800) return `${two(seconds / 3_600)}:${minutes}`;
  return `${Math.floor(seconds / 86_400)} ${days}`;
}

document.addEventListener("click", (event) => {
  const { target } = event;
  const copyButton = target.closest("[data-copy]");
  if (copyButton) copy(copyButton);
  if (target.closest("[data-print]")) print();
  const link = target.closest("[data-check]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    check(link);
  }
});

async function copy(button) {
  const label = button.querySelector("span");
  if (!await writeClipboard(button)) return;
  const { copied } = button.dataset;
  button.dataset.label = button.dataset.label || label.textContent;
  label.textContent = copied;
  button.classList.add("copied");
  document.getElementById("announcement").textContent = copied;
  setTimeout(() => {
    label.textContent = button.dataset.label;
    button.classList.remove("copied");
  }, COPIED_MS);
}

/** Embedded browsers of apps often have no clipboard; the older command works in most of them. */
async function writeClipboard(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = button.dataset.copy;
    field.readOnly = true;
    field.className = "hidden";
    button.after(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    button.focus();
    return isCopied;
  }
}

/** Says what was found, which a page that looks the same after loading does not. */
async function check(link) {
  const result = link.parentElement.querySelector("[data-result]");
  result.textContent = link.dataset.checking;
  if (link.dataset.check === "gateway") {
    await fetch(link.href, { cache: "no-store" }).catch(() => {});
  }
  const isSame = await compareState();
  if (isSame === null) result.textContent = link.dataset.offline;
  if (isSame === true) result.textContent = link.dataset.same;
}

/** A second tap must not send a form again. */
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  setTimeout(() => delete form.dataset.sent, SENT_MS);
});
