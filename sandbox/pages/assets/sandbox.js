/** The list, live: listens for changes, and sees to what is pressed and typed. */

import { tick } from "./clock.js";
import { toggleDetails } from "./details.js";
import { notice, press } from "./press.js";
import { refresh } from "./refresh.js";

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
  // The first message greets: after a lost connection it is time to catch up, too.
  changes.onmessage = refresh;
  addEventListener("pagehide", () => changes.close());
  // The browser's memory brings a page back as it was left, without its connection.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

function onClick(event) {
  const target = event.target.closest("[data-post], [data-copy], [data-open]");
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const { post, method = "POST", body, copy, open } = target.dataset;
  if (open) toggleDetails(open);
  else if (copy) copyText(copy);
  else press(target, post, method, body);
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
  press(form, form.getAttribute("action"), form.dataset.send, body);
}

/** The address says what is shown, so that reloading shows the same. */
function onFilter(event) {
  const fields = [...new FormData(event.currentTarget)].filter(([, value]) => value);
  const query = new URLSearchParams(fields).toString();
  history.replaceState(null, "", query ? `/?${query}` : "/");
  refresh();
}

async function copyText(id) {
  try {
    await navigator.clipboard.writeText(document.getElementById(id).textContent);
    notice("Copied.");
  } catch {
    notice("The browser does not let this page copy.", true);
  }
}
