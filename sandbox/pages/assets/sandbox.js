/** Updates the pages when something changes, and reacts to clicks and input. */

import "./copy.js";
import { toggleDetails } from "./details.js";
import { refresh, tick } from "./refresh.js";

const NOTICE_MS = 6000;
const MAX_NOTICES = 3;

listen();
setInterval(tick, 1000);
document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
document.getElementById("filter")?.addEventListener("input", onFilter);

function listen() {
  const connection = document.getElementById("connection");
  const show = (text, isLive) => {
    if (!connection) return;
    connection.textContent = text;
    connection.classList.toggle("live", isLive);
  };
  const changes = new EventSource("/_sandbox/changes");
  changes.onopen = () => show("Live", true);
  changes.onerror = () => show("Connecting…", false);
  // The first message arrives on connection, so the page also updates after a reconnect.
  changes.onmessage = refresh;
  addEventListener("pagehide", () => changes.close());
  // The browser's back-forward cache restores a page without its connection.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

function onClick(event) {
  const target = event.target.closest("[data-post], [data-open]");
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const { post, method = "POST", body, open } = target.dataset;
  if (open) toggleDetails(open);
  else sendAction(target, post, method, body);
}

function onSubmit(event) {
  const form = event.target;
  if (form.id === "filter") return event.preventDefault();
  if (!form.dataset.send) return;
  event.preventDefault();
  const fields = [...form.elements].filter(({ name }) => name);
  const values = fields.map(({ name, type, value }) => [
    name,
    type === "number" ? Number(value) : value.trim() || null,
  ]);
  const body = JSON.stringify(Object.fromEntries(values));
  sendAction(form, form.getAttribute("action"), form.dataset.send, body);
}

/** Puts the filter into the URL, so that a reload keeps it. */
function onFilter(event) {
  const fields = [...new FormData(event.currentTarget)].filter(([, value]) => value);
  const query = new URLSearchParams(fields).toString();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
  refresh();
}

/** Ignores a second click while the first request is running. */
async function sendAction(source, url, method, body) {
  const group = source.closest("tbody") ?? source;
  if (group.ariaBusy === "true") return;
  group.ariaBusy = "true";
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(url, { method, headers, body });
    const result = await response.json();
    if (response.ok) showNotice(source.dataset.notice ?? describeResult(result));
    else showNotice(describeError(result), true);
  } catch {
    showNotice("The sandbox does not respond.", true);
  } finally {
    group.ariaBusy = null;
    refresh();
  }
}

function showNotice(text, isError = false) {
  const line = document.createElement("p");
  line.textContent = text;
  line.className = isError ? "notice error" : "notice";
  const notices = document.getElementById("notices");
  notices.append(line);
  if (notices.childElementCount > MAX_NOTICES) notices.firstElementChild.remove();
  setTimeout(() => line.remove(), isError ? 2 * NOTICE_MS : NOTICE_MS);
}

function describeError({ status_message, validation_messages }) {
  return validation_messages?.join(", ") ?? status_message ?? "Request failed.";
}

function describeResult(result) {
  if (result.transaction_status) return `${result.order_id} is now: ${result.transaction_status}`;
  if (result.invoice) return describeResult(result.invoice);
  if (result.invoice_number) return `${result.invoice_number} is now: ${result.status}`;
  if (result.schedule) return `${result.name}: ${describeCycles(result)}`;
  if ("settled" in result) return `Settled: ${result.settled}`;
  if (result.attempts) return `Webhook resent: ${result.state}`;
  return "Done.";
}

function describeCycles({ status, schedule }) {
  return `${status}, cycles started: ${schedule.current_interval}`;
}
