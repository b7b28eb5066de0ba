/** The controls beside the list: the clock, the webhooks' address, faults, keys. */

import { html } from "hono/html";
import { ENDPOINTS } from "../../api/endpoints.ts";
import { CAUSES } from "../../world/webhook.ts";
import { ANSWER_FAULTS, type Fault, WEBHOOK_FAULTS } from "../../faults/faults.ts";
import { DAY, HOUR, MINUTE, SECOND, wib } from "../../engine/time.ts";
import type { Identity, OpenWorld, Settings } from "../../world/world.ts";
import type { Markup } from "../shared/layout.ts";

export function panels(world: OpenWorld): Markup {
  return html`
    ${clock(world)} ${addresses(world.settings)} ${faults(world.faults.list())}
    <div id="keys" data-live>${world.transactions.size > 0 ? keys(world) : ""}</div>
  `;
}

/** A month of 31 days: no monthly payment is left out. */
const STEPS: [label: string, length: number][] = [
  ["+1 minute", MINUTE],
  ["+1 hour", HOUR],
  ["+1 day", DAY],
  ["+1 month", 31 * DAY],
];

function clock({ clock }: OpenWorld): Markup {
  const now = clock.now();
  // How fast it runs, seen from outside: what a minute here takes there.
  const rate = MINUTE / clock.realDelay(now + MINUTE);
  return html`
    <section class="card">
      <h2>Clock</h2>
      <p><time id="clock" data-now="${now}" data-rate="${rate.toFixed(3)}">${wib(
        now,
      )}</time> WIB</p>
      <div class="buttons">
        ${STEPS.map(([label, length]) =>
          html`
            <button
              data-post="/_sandbox/clock"
              data-body="${JSON.stringify({ advance_seconds: length / SECOND })}"
              data-says="The clock was moved: ${label}"
              data-key="${label}"
            >${label}</button>
          `
        )}
        <button data-post="/_sandbox/settle" data-key="settle">Settle today’s captures</button>
      </div>
    </section>
  `;
}

const ADDRESSES: [name: keyof Settings, label: string][] = [
  ["notification_url", "Payments"],
  ["recurring_notification_url", "Subscriptions"],
  ["pay_account_notification_url", "Linked wallets"],
];

function addresses(settings: Settings): Markup {
  return html`
    <section class="card">
      <h2>Webhooks go to</h2>
      <form action="/_sandbox/settings" data-send="PATCH" data-says="The addresses are saved.">
        ${ADDRESSES.map(([name, label]) =>
          html`
            <label for="${name}">${label}</label>
            <input
              id="${name}"
              name="${name}"
              type="url"
              data-follow
              value="${settings[name] ?? ""}"
              placeholder="http://127.0.0.1:8000/…"
            >
          `
        )}
        <button data-key="save">Save</button>
      </form>
    </section>
  `;
}

const OPERATIONS: string[] = ENDPOINTS.map(({ operation }) => operation);
/** Webhooks are caused by these besides the operations of the merchant. */
const OTHER_CAUSES = CAUSES.filter((cause) => !OPERATIONS.includes(cause));

function faults(armed: Fault[]): Markup {
  const options = (values: readonly string[]) =>
    values.map((value) => html`<option value="${value}">${value}</option>`);
  return html`
    <section class="card">
      <h2>Faults</h2>
      <div id="faults" data-live>${armed.length === 0 ? "" : armedList(armed)}</div>
      <form action="/_sandbox/faults" data-send="POST" data-says="The fault is armed.">
        <label for="operation">Operation</label>
        <select id="operation" name="operation">
          <option value="*">any</option>
          <optgroup label="The merchant’s">
            ${options(OPERATIONS)}
          </optgroup>
          <optgroup label="Webhooks after">${options(OTHER_CAUSES)}</optgroup>
        </select>
        <label for="fault">Fault</label>
        <select id="fault" name="fault">
          <optgroup label="Answers">${options(ANSWER_FAULTS)}</optgroup>
          <optgroup label="Webhooks">${options(WEBHOOK_FAULTS)}</optgroup>
        </select>
        <label for="count-of-faults">Times</label>
        <input id="count-of-faults" name="count" type="number" min="1" max="1000000" value="1">
        <button data-key="arm">Arm</button>
      </form>
    </section>
  `;
}

function armedList(armed: Fault[]): Markup {
  return html`
    <ul class="armed">
      ${armed.map(({ operation, fault, count }) =>
        html`<li><strong>${fault}</strong> in ${operation}, ${count} ×</li>`
      )}
    </ul>
    <button
      data-post="/_sandbox/faults"
      data-method="DELETE"
      data-says="All faults are cleared."
      data-key="clear"
    >Clear all</button>
  `;
}

/** Where the list is empty, it tells them itself. */
function keys(world: OpenWorld): Markup {
  return html`
    <section class="card">
      <h2>Keys</h2>
      <dl class="keys">${addressAndKeys(world)}</dl>
    </section>
  `;
}

/** Entries of a list, to which others may be added. */
export function addressAndKeys({ merchant, publicUrl }: Identity): Markup {
  return html`
    <div>
      <dt>Address</dt>
      <dd><code>${publicUrl()}</code></dd>
    </div>
    <div>
      <dt>Server key</dt>
      <dd><code>${merchant.serverKey}</code></dd>
    </div>
    <div>
      <dt>Client key</dt>
      <dd><code>${merchant.clientKey}</code></dd>
    </div>
  `;
}
