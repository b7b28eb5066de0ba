/** The screens of a Snap page: the payment form, and what the page shows when it has ended. */

import { html } from "hono/html";
import { missingMethods, offeredMethods, type OtherMethod } from "../../snap/methods.ts";
import { latestOf, snapState } from "../../snap/pages.ts";
import { backUrl, isPaidElsewhere, returnUrl, savedCards, threeDsPath } from "../../snap/pay.ts";
import type { SnapLanguage, SnapPage } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { formatRupiah, formatTime } from "../shared/format.ts";
import type { Markup } from "../shared/layout.ts";
import { screen } from "./screens.ts";
import { OTHER_METHOD_NAMES, type Problem, type SnapWords } from "./snap_words.ts";

export interface SnapView {
  world: World;
  page: SnapPage;
  words: SnapWords;
  language: SnapLanguage;
}

export function payScreen(view: SnapView, problem: Problem | null): Markup {
  const { world, page, words } = view;
  const methods = offeredMethods(world, page.request);
  const others = methods.filter((method): method is OtherMethod => method in OTHER_METHOD_NAMES);
  const missing = missingMethods(page.request);
  const hasCard = methods.includes("credit_card");
  const hasGooglePay = methods.includes("google_pay");
  return html`
    ${notice(view, problem)}
    <div class="snap">
      ${summary(view)}
      <section class="card screen">
        ${hasGooglePay && googlePayForm(words)}
        ${hasGooglePay && hasCard && html`<p class="or">${words.or}</p>`}
        ${hasCard && cardForms(view, problem)}
        ${hasCard && others.length > 0 && html`<p class="or">${words.or}</p>`}
        ${others.length > 0 && otherForm(words, others)}
        ${missing.length > 0 &&
          html`<p class="hint missing">${words.missing(missing.join(", "))}</p>`}
      </section>
    </div>
    ${footer(view)}
  `;
}

/** What was wrong with the last entry, or why the last card was denied. */
function notice({ world, page, words }: SnapView, problem: Problem | null): Markup {
  const latest = latestOf(world, page);
  const text = problem ? words.problems[problem] : latest && words.failures[latest.status];
  return text ? html`<p class="denial" role="alert">${text}</p>` : "";
}

function summary({ world, page, words }: SnapView): Markup {
  const items = page.request.item_details ?? [];
  const isOrderHidden = world.settings.preferences.hide_order_id;
  return screen({
    brand: words.merchant,
    title: formatRupiah(page.amount),
    facts: [
      ...isOrderHidden ? [] : [[words.order, page.orderId] as [string, string]],
      [words.payBefore, formatTime(page.expiresAt)],
    ],
    body: items.length === 0 ? "" : itemTable(words, items, page.amount),
  });
}

function itemTable(
  words: SnapWords,
  items: { name: string; price: number; quantity: number }[],
  amount: number,
): Markup {
  return html`
    <table class="items">
      <caption>${words.items}</caption>
      <tbody>
        ${items.map(({ name, price, quantity }) =>
          html`
            <tr>
              <td>${name} <small>${quantity} × ${formatRupiah(price)}</small></td>
              <td class="number">${formatRupiah(price * quantity)}</td>
            </tr>
          `
        )}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">${words.total}</th>
          <td class="number">${formatRupiah(amount)}</td>
        </tr>
      </tfoot>
    </table>
  `;
}

function googlePayForm(words: SnapWords): Markup {
  return html`
    <form method="post">
      <button class="google" name="method" value="google_pay">${words.googlePay}</button>
    </form>
  `;
}

function cardForms(view: SnapView, problem: Problem | null): Markup {
  const { world, page, words } = view;
  const saved = savedCards(world, page);
  const isSaveOffered = page.request.credit_card?.save_card === true;
  const payLabel = words.pay(formatRupiah(page.amount));
  const form = html`
    <form method="post">
      <div class="fields">
        ${cardField("number", words.number, "cc-number", 23, problem)}
        ${cardField("expiry", words.expiry, "cc-exp", 7, problem)}
        ${cardField("cvv", words.cvv, "cc-csc", 4, problem)}
      </div>
      ${isSaveOffered &&
        html`<label class="tick"><input type="checkbox" name="save" value="1"> ${words.save}</label>`}
      <button id="pay-by-card" class="primary">${payLabel}</button>
    </form>
    ${testCards(words)}
  `;
  if (saved.length === 0) return html`<h2>${words.card}</h2>${form}`;
  return html`
    <form method="post">
      <fieldset class="choices saved">
        <legend>${words.savedCards}</legend>
        ${saved.map(({ id, masked, brand }, index) =>
          html`
            <label>
              <input type="radio" name="saved" value="${id}" ${index === 0 && "checked"}>
              ${brand.toUpperCase()} •••• ${masked.slice(-4)}
            </label>
          `
        )}
      </fieldset>
      <label for="saved-cvv">${words.cvv}</label>
      <input id="saved-cvv" class="code" name="cvv" inputmode="numeric" autocomplete="cc-csc"
        maxlength="4"
        required>
      <button class="primary">${payLabel}</button>
    </form>
    <details ${problem && "open"}><summary>${words.anotherCard}</summary>${form}</details>
  `;
}

function cardField(
  name: "number" | "expiry" | "cvv",
  label: string,
  autocomplete: string,
  maxlength: number,
  problem: Problem | null,
): Markup {
  return html`
    <div>
      <label for="${name}">${label}</label>
      <input
        id="${name}"
        name="${name}"
        inputmode="numeric"
        autocomplete="${autocomplete}"
        maxlength="${maxlength}"
        required
        aria-invalid="${problem === name ? "true" : "false"}"
      >
    </div>
  `;
}

const TEST_CARDS: [outcome: keyof SnapWords["outcomes"], number: string][] = [
  ["accepted", "4811 1111 1111 1114"],
  ["without_code", "4556 5579 5572 6624"],
  ["denied", "4911 1111 1111 1113"],
  ["funds", "4472 4298 6999 6670"],
  ["challenged", "4511 1111 1111 1117"],
];

/** The script fills in the number that the customer clicks. */
function testCards(words: SnapWords): Markup {
  return html`
    <details>
      <summary>${words.testCards}</summary>
      <p class="hint">${words.testCardHint}</p>
      <ul class="test-cards">
        ${TEST_CARDS.map(([outcome, number]) =>
          html`
            <li>
              <button type="button" data-fill="${number}">
                <code>${number}</code> <span>${words.outcomes[outcome]}</span>
              </button>
            </li>
          `
        )}
      </ul>
    </details>
  `;
}

function otherForm(words: SnapWords, methods: OtherMethod[]): Markup {
  return html`
    <form method="post">
      <fieldset class="choices">
        <legend>${words.others}</legend>
        ${methods.map((method, index) =>
          html`
            <label>
              <input type="radio" name="method" value="${method}" ${index === 0 && "checked"}>
              ${OTHER_METHOD_NAMES[method]}
            </label>
          `
        )}
      </fieldset>
      <button>${words.continue}</button>
    </form>
  `;
}

/** The way back to the merchant, and the other language. */
function footer({ world, page, words, language }: SnapView): Markup {
  const back = backUrl(world, page);
  return html`
    <p class="languages">
      ${back ? html`<a href="${back}" target="_top">${words.back}</a>` : html`<span></span>`}
      ${language === "en"
        ? html`<a href="?language=id" lang="id" hreflang="id">Bahasa Indonesia</a>`
        : html`<a href="?language=en" lang="en" hreflang="en">English</a>`}
    </p>
  `;
}

/** `ended`: data for the script; null if the customer can continue. */
export function endedScreen(view: SnapView, ended: string | null): Markup {
  const { world, page, words } = view;
  const state = snapState(world, page);
  if (state === "open") return "";
  const [title, text] = words.ended[state];
  const latest = latestOf(world, page);
  const toBank = threeDsPath(latest);
  const toPayment = isPaidElsewhere(latest) && latest;
  const back = returnUrl(world, page) ?? backUrl(world, page);
  const status = latest && words.statuses[latest.status];
  return html`
    ${screen({
      brand: words.merchant,
      title,
      facts: [
        [words.total, formatRupiah(page.amount)],
        ...world.settings.preferences.hide_order_id
          ? []
          : [[words.order, page.orderId] as [string, string]],
        ...status ? [[words.status, status] as [string, string]] : [],
      ],
      body: html`
        <p>${text}</p>
        <div class="ways">
          ${toBank && html`<a class="button primary" href="${toBank}">${words.goToBank}</a>`}
          ${toPayment && html`
            <a class="button primary" href="/pay/${toPayment.id}" target="_blank">
              ${words.goToPayment}
            </a>
          `}
          ${back && html`
            <a class="button ${!toBank && !toPayment && "primary"}" href="${back}" target="_top">
              ${words.back}
            </a>
          `}
        </div>
      `,
    })}
    ${ended && endedData(ended)}
  `;
}

export function unknownScreen(title: string, text: string, ended: string): Markup {
  return html`
    <section class="card screen">
      <h1>${title}</h1>
      <p>${text}</p>
    </section>
    ${endedData(ended)}
  `;
}

/** Read by the script. */
function endedData(ended: string): Markup {
  return html`<div id="snap-ended" data-ended="${ended}"></div>`;
}
