/** The screens that link to a page where the customer enters a card or confirms a payment. */

import type { FC } from "hono/jsx";
import { appAddress, webAddress } from "./format.ts";
import { MethodIcon } from "./methods.tsx";
import type { Screen } from "./model.ts";
import { BackToShop, ChangeMethod, CheckLink, Deadline, Heading, type View } from "./parts.tsx";
import type { Words } from "./words.ts";

type CardScreen = Extract<Screen, { type: "card" }>;
type ConfirmScreen = Extract<Screen, { type: "confirm" }>;

export const Card: FC<{ view: View; screen: CardScreen }> = ({ view, screen }) => {
  const { words, model } = view;
  const { card } = words;
  const { state, change, endsAt } = screen;
  const url = URL.parse(screen.url);
  url?.searchParams.set("language", model.language);
  return (
    <>
      <div class="title">
        <MethodIcon method="credit_card" />
        <Heading>{card.title}</Heading>
      </div>
      <Deadline view={view} at={endsAt} />
      {state === "failed" && <p class="notice warning" role="status">{card.failed}</p>}
      {state === "in_process" && <p class="notice" role="status">{card.inProcess}</p>}
      <div class="card action">
        <a class="button main" href={webAddress(url?.href ?? null) ?? undefined} rel="noreferrer">
          {state === "failed" ? card.again : state === "in_process" ? card.toBank : card.open}
        </a>
        <p class="help">{card.help}</p>
      </div>
      <section class="progress">
        <p class="help needs-script">{words.updatesItself}</p>
        <CheckLink view={view} asksGateway>{words.havePaid}</CheckLink>
      </section>
      <ChangeMethod view={view} change={change} />
      <BackToShop view={view} />
    </>
  );
};

/** A single charge whose customer goes on to the bank's page, or to DANA. */
export const Confirm: FC<{ view: View; screen: ConfirmScreen }> = ({ view, screen }) => {
  const { words } = view;
  const { by, url, endsAt } = screen;
  const isBank = by === "bank";
  return (
    <>
      <div class="title">
        {isBank && <MethodIcon method="credit_card" />}
        <Heading>{confirmTitle(words, screen)}</Heading>
      </div>
      <Deadline view={view} at={endsAt} />
      <div class="card action">
        <a
          class="button main"
          href={(isBank ? webAddress(url) : appAddress(url)) ?? undefined}
          rel="noreferrer"
        >
          {isBank ? words.card.toBank : words.openApp(DANA)}
        </a>
        <p class="help">{isBank ? words.card.inProcess : words.appHelp(DANA)}</p>
      </div>
      <section class="progress">
        <p class="help needs-script">{words.updatesItself}</p>
        <CheckLink view={view}>{words.havePaid}</CheckLink>
      </section>
    </>
  );
};

const DANA = "DANA";

export function confirmTitle({ card, pay }: Words, { by }: ConfirmScreen): string {
  return by === "bank" ? card.title : pay.wallet(DANA);
}
