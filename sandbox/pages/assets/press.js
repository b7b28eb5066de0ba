/** Buttons: asks the sandbox's control API, and says what came of it. */

import { refresh } from "./refresh.js";

const NOTICE_MS = 6000;
const MAX_NOTICES = 3;

/** A second press, while the first is on its way, would only be refused. */
export async function press(source, address, method, body) {
  const group = source.closest("tbody") ?? source;
  if (group.ariaBusy === "true") return;
  group.ariaBusy = "true";
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(address, { method, headers, body });
    const answer = await response.json();
    if (response.ok) notice(source.dataset.says ?? outcome(answer));
    else notice(reason(answer), true);
  } catch {
    notice("The sandbox does not answer.", true);
  } finally {
    group.ariaBusy = null;
    refresh();
  }
}

export function notice(text, isError = false) {
  const line = document.createElement("p");
  line.textContent = text;
  line.className = isError ? "notice error" : "notice";
  const notices = document.getElementById("notices");
  notices.append(line);
  if (notices.childElementCount > MAX_NOTICES) notices.firstElementChild.remove();
  setTimeout(() => line.remove(), isError ? 2 * NOTICE_MS : NOTICE_MS);
}

function reason({ status_message, validation_messages }) {
  return validation_messages?.join(", ") ?? status_message ?? "That did not work.";
}

function outcome(answer) {
  if (answer.transaction_status) return `${answer.order_id} is now: ${answer.transaction_status}`;
  if ("settled" in answer) return `Settled: ${answer.settled}`;
  if (answer.attempts) return `The webhook was sent again: ${answer.state}`;
  return "Done.";
}
