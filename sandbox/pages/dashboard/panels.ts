/** The control panels next to the list: clock, webhook URLs, faults, keys. */

import { html } from "hono/html";
import { ENDPOINTS } from "../../api/endpoints.ts";
import { OTP } from "../../cards/authorization.ts";
import { DAY, formatWib, HOUR, MINUTE, SECOND } from "../../engine/time.ts";
import { type Fault, RESPONSE_FAULTS, WEBHOOK_FAULTS } from "../../faults/faults.ts";
import { CAUSES } from "../../world/webhook.ts";
import type { Identity, OpenWorld, Settings } from "../../world/world.ts";
import { copyable } from "../shared/copy.ts";
import type { Markup } from "../shared/layout.ts";

export function panels(world: OpenWorld): Markup {
  return html`
    ${clock(world)} ${webhookUrls(world.settings)} ${faults(world.faults.list())}
    <div id="keys" data-live>${world.transactions.size > 0 ? keys(world) : ""}</div>
    <div id="cards" data-live>${world.transactions.size > 0 ? cards() : ""}</div>
  `;
}

/** A month has 31 days here, so that every monthly payment becomes due. */
const STEPS: [label: string, length: number][] = [
  ["+1 minute", MINUTE],
  ["+1 hour", HOUR],
  ["+1 day", DAY],
  ["+1 month", 31 * DAY],
];

function clock({ clock }: OpenWorld): Markup {
  const now = clock.now();
  // Speed of the clock, derived from the real duration of a sandbox minute.
  const rate = MINUTE / clock.realDelay(now + MINUTE);
  return html`
    <section class="card">
      <h2>Clock</h2>
      <p><time id="clock" data-now="${now}" data-rate="${rate.toFixed(3)}">${formatWib(
        now,
      )}</time> WIB</p>
      <div class="buttons">
        ${STEPS.map(([label, length]) =>
          html`
            <button
              data-post="/_sandbox/clock"
              data-body="${JSON.stringify({ advance_seconds: length / SECOND })}"
              data-notice="Clock advanced: ${label}"
              data-key="${label}"
            >${label}</button>
          `
        )}
        <button data-post="/_sandbox/settle" data-key="settle">Settle captured payments</button>
      </div>
    </section>
  `;
}

const WEBHOOK_URLS: [name: keyof Settings, label: string][] = [
  ["notification_url", "Payments"],
  ["recurring_notification_url", "Subscriptions"],
  ["pay_account_notification_url", "Linked wallets"],
];

function webhookUrls(settings: Settings): Markup {
  return html`
    <section class="card">
      <h2>Webhook URLs</h2>
      <form action="/_sandbox/settings" data-send="PATCH" data-notice="Webhook URLs saved.">
        ${WEBHOOK_URLS.map(([name, label]) =>
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
/** Causes of webhooks that are not API calls. */
const OTHER_CAUSES = CAUSES.filter((cause) => !OPERATIONS.includes(cause));

function faults(armed: Fault[]): Markup {
  const options = (values: readonly string[]) =>
    values.map((value) => html`<option value="${value}">${value}</option>`);
  return html`
    <section class="card">
      <h2>Faults</h2>
      <div id="faults" data-live>${armed.length === 0 ? "" : armedList(armed)}</div>
      <form action="/_sandbox/faults" data-send="POST" data-notice="Fault armed.">
        <label for="operation">Operation</label>
        <select id="operation" name="operation">
          <option value="*">any</option>
          <optgroup label="API calls">
            ${options(OPERATIONS)}
          </optgroup>
          <optgroup label="Webhooks caused by">${options(OTHER_CAUSES)}</optgroup>
        </select>
        <label for="fault">Fault</label>
        <select id="fault" name="fault">
          <optgroup label="Responses">${options(RESPONSE_FAULTS)}</optgroup>
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
      data-notice="All faults cleared."
      data-key="clear"
    >Clear all</button>
  `;
}

/** Hidden while there are no transactions: the empty list of transactions shows the keys. */
function keys(world: OpenWorld): Markup {
  return html`
    <section class="card">
      <h2>Keys</h2>
      <dl class="keys">${connectionDetails(world)}</dl>
    </section>
  `;
}

/** Entries of a `<dl>`, to which the caller may add others. */
export function connectionDetails({ merchant, publicUrl }: Identity): Markup {
  return html`
    <div>
      <dt>Base URL</dt>
      <dd>${copyable("base URL", publicUrl())}</dd>
    </div>
    <div>
      <dt>Server key</dt>
      <dd>${copyable("server key", merchant.serverKey)}</dd>
    </div>
    <div>
      <dt>Client key</dt>
      <dd>${copyable("client key", merchant.clientKey)}</dd>
    </div>
  `;
}

function cards(): Markup {
  return html`
    <section class="card">
      <h2>Test cards</h2>
      <dl class="keys">${testCards()}</dl>
    </section>
  `;
}

const TEST_CARDS: [result: string, number: string][] = [
  ["accepted", "4811 1111 1111 1114"],
  ["denied by the bank", "4911 1111 1111 1113"],
  ["accepted, but challenged", "4511 1111 1111 1117"],
];

/** Entries of a `<dl>`, like those of `connectionDetails`. */
export function testCards(): Markup {
  return html`
    ${TEST_CARDS.map(([result, number]) =>
      html`
        <div>
          <dt>Card: ${result}</dt>
          <dd>${copyable(`card number: ${result}`, number.replaceAll(" ", ""), number)}</dd>
        </div>
      `
    )}
    <div>
      <dt>CVV and one-time password</dt>
      <dd><code>123</code> and <code>${OTP}</code></dd>
    </div>
  `;
}
