/** The payment page: a pure function of what it shows. */

import type { Child, FC } from "hono/jsx";
import { firstLetter } from "./assets.tsx";
import { Choose } from "./choose.tsx";
import { headingOf, Instructions } from "./instructions.tsx";
import { Card, Confirm, confirmTitle } from "./card.tsx";
import { methodName } from "./methods.tsx";
import type { PageModel } from "./model.ts";
import { Ended, Items, Paid, Processing, Waiting } from "./outcomes.tsx";
import { linkTo, Sum, type View } from "./parts.tsx";
import { LANGUAGES, type Words, wordsOf } from "./words.ts";

/** The headers of every response with a page. The page loads only from its own host. */
export const PAGE_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
  "X-Frame-Options": "DENY",
  "X-Robots-Tag": "noindex, nofollow",
};

/** The document as HTML. */
export function renderPage(model: PageModel): string {
  const view = { model, words: wordsOf(model.language) };
  return `<!DOCTYPE html>${<Page view={view} />}`;
}

const Page: FC<{ view: View }> = ({ view }) => {
  const { words, model } = view;
  const { merchant, language } = model;
  // The files are next to the pages of all checkouts, so that browsers load them once.
  const assets = model.path.slice(0, model.path.lastIndexOf("/"));
  return (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <meta name="format-detection" content="telephone=no" />
        <meta name="color-scheme" content="light dark" />
        <title>{words.titleOf(titleOf(words, model), merchant.name)}</title>
        <link rel="icon" href={merchant.logoPath ?? `${assets}/icon.svg`} />
        <link rel="stylesheet" href={`${assets}/pay.css`} />
        <script src={`${assets}/pay.js`} defer></script>
      </head>
      <body>
        <a class="skip" href="#main">{words.skip}</a>
        <header>
          <Merchant view={view} />
          <nav aria-label={words.languages}>
            {LANGUAGES.map((each) => (
              <a
                href={linkTo(view, "", each)}
                hreflang={each}
                lang={each}
                aria-current={each === language ? "true" : undefined}
              >
                {each.toUpperCase()}
                <span class="hidden">{` – ${wordsOf(each).languageName}`}</span>
              </a>
            ))}
          </nav>
        </header>
        <div
          id="page"
          class={`page screen-${model.screen.type}`}
          data-url={linkTo(view)}
          data-path={model.path}
          data-state={model.stateKey}
          data-now={model.now.getTime()}
          data-live={model.screen.type === "paid" ? undefined : "yes"}
        >
          {model.screen.type !== "paid" && <Summary view={view} />}
          <main id="main">{screenOf(view)}</main>
        </div>
        <p class="hidden" role="status" id="announcement"></p>
      </body>
    </html>
  );
};

/** The logo, or the first letter of the name in the merchant's colour. */
const Merchant: FC<{ view: View }> = ({ view: { model: { merchant } } }) => (
  <p class="merchant">
    {merchant.logoPath
      ? <img class="logo" src={merchant.logoPath} alt="" height={40} />
      : <span class="letter" aria-hidden="true">{firstLetter(merchant.name)}</span>}
    <strong>{merchant.name}</strong>
  </p>
);

const Summary: FC<{ view: View }> = ({ view }) => {
  const { words, model: { order } } = view;
  return (
    <aside class="summary" aria-label={words.orderDetails}>
      <p class="faint">{words.total}</p>
      <Sum amount={order.gross_amount} />
      <p class="faint reference">
        {words.order} <span>{order.order_id}</span>
      </p>
      {order.items.length > 0 && (
        <details id="order-details">
          <summary>{words.orderDetails}</summary>
          {order.customer_name && (
            <p class="faint">
              {words.orderFor} {order.customer_name}
            </p>
          )}
          <Items view={view} />
        </details>
      )}
    </aside>
  );
};

function screenOf(view: View): Child {
  const { screen } = view.model;
  switch (screen.type) {
    case "choose":
      return <Choose view={view} screen={screen} />;
    case "waiting":
      return <Waiting view={view} screen={screen} />;
    case "card":
      return <Card view={view} screen={screen} />;
    case "confirm":
      return <Confirm view={view} screen={screen} />;
    case "instructions":
      return <Instructions view={view} screen={screen} />;
    case "processing":
      return <Processing view={view} screen={screen} />;
    case "paid":
      return <Paid view={view} screen={screen} />;
    case "expired":
    case "cancelled":
    case "failed":
      return <Ended view={view} screen={screen} />;
  }
}

/** The title of the window, which is the heading of the screen. */
function titleOf(words: Words, { screen }: PageModel): string {
  switch (screen.type) {
    case "choose":
      return screen.methods.length === 0 ? words.choose.none : words.choose.title;
    case "waiting":
      return words.waiting[screen.reason](methodName(words, screen.method));
    case "instructions":
      return headingOf(words, screen.method);
    case "confirm":
      return confirmTitle(words, screen);
    default:
      return words[screen.type].title;
  }
}
