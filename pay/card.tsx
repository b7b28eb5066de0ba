/** The screen that links to the gateway's page, where the customer enters the card. */

import type { FC } from "hono/jsx";
import { webAddress } from "./format.ts";
import { MethodIcon } from "./methods.tsx";
import type { Screen } from "./model.ts";
import { BackToShop, ChangeMethod, CheckLink, Deadline, Heading, type View } from "./parts.tsx";

type CardScreen = Extract<Screen, { type: "card" }>;

export const Card: FC<{ view: View; screen: CardScreen }> = ({ view, screen }) => {
  const { words } = view;
  const { card } = words;
  const { state, change, endsAt } = screen;
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
        <a class="button main" href={webAddress(screen.url) ?? undefined} rel="noreferrer">
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
