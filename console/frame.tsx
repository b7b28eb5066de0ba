/** The frame of every page of the console: head, navigation and footer. */

import type { Child, FC } from "hono/jsx";
import { roleOf } from "../core/auth/caller.ts";
import { THEMES, type View } from "./session.ts";
import { jakartaTime, utcTime } from "./format.ts";
import { LANGUAGES, wordsOf } from "./words/languages.ts";

interface FrameProps {
  view: View;
  title: string;
  /** The path of the page in the console, such as `/payments/`. */
  path: string;
  /** The id of the resource whose events update the page; `*`: all resources; absent: none. */
  live?: string;
  /** The names of all events. */
  events?: readonly string[];
  children?: Child;
}

export const Frame: FC<FrameProps> = ({ view, title, path, live, events, children }) => {
  const { root, language, words, theme, session } = view;
  return (
    <html lang={language} data-theme={theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · ${words.console}`}</title>
        <link rel="icon" href={`${view.basePath}/reference/favicon.svg`} />
        <link rel="stylesheet" href={`${root}/console.css`} />
        <script src={`${root}/console.js`} defer></script>
      </head>
      <body
        data-live={live}
        data-live-url={live && `${root}/live/`}
        data-events={live && events?.join(" ")}
      >
        <a class="skip" href="#main">{words.details}</a>
        <header class="top">
          <a class="brand" href={`${root}/`}>Payment Gateway</a>
          {session && <Navigation view={view} path={path} />}
        </header>
        <main id="main">{children}</main>
        <footer>
          <Preferences view={view} path={path} />
        </footer>
      </body>
    </html>
  );

  /** Language and appearance. */
  function Preferences({ view, path }: { view: View; path: string }) {
    return (
      <form class="preferences" method="post" action={`${view.root}/preferences/`}>
        <input type="hidden" name="path" value={path} />
        {LANGUAGES.map((each) => (
          <button
            type="submit"
            name="language"
            value={each}
            lang={each}
            aria-pressed={each === language}
          >
            {wordsOf(each).language}
          </button>
        ))}
        <span class="gap"></span>
        {THEMES.map((each) => (
          <button type="submit" name="theme" value={each} aria-pressed={each === theme}>
            {words.themes[each]}
          </button>
        ))}
      </form>
    );
  }
};

const Navigation: FC<{ view: View; path: string }> = ({ view, path }) => {
  const { root, words, session } = view;
  const pages = {
    "/payments/": words.payments,
    "/refunds/": words.refundsPage,
    "/reports/": words.reportsPage.title,
    "/reconciliations/": words.reconciliationPage.title,
    "/notifications/": words.notifications,
    "/webhooks/": words.webhooks,
    "/jobs/": words.jobs,
    "/keys/": words.keys,
    "/sessions/": words.sessions,
  };
  const role = roleOf(session!.caller);
  return (
    <>
      <nav aria-label={words.console}>
        {Object.entries(pages).map(([each, name]) => (
          <a
            href={root + each}
            aria-current={path === each ? "page" : path.startsWith(each) ? "true" : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <form class="account" method="post" action={`${root}/sign-out/`}>
        <span>
          {session!.caller.userId} · {role === "user" ? "" : words.roles[role]}
        </span>
        <FormToken view={view} />
        <button type="submit">{words.signOut}</button>
      </form>
    </>
  );
};

/** Every form of a signed-in page has it. */
export const FormToken: FC<{ view: View }> = ({ view }) => (
  <input type="hidden" name="token" value={view.session!.formToken} />
);

/** A time in Jakarta; the tooltip has UTC. */
export const Time: FC<{ view: View; at: string | null }> = ({ view, at }) =>
  at === null
    ? <>–</>
    : <time datetime={at} title={utcTime(at)}>{jakartaTime(at, view.words.locale)}</time>;

/** A table that scrolls on narrow screens. */
export const Table: FC<{ columns: Child[]; children?: Child }> = ({ columns, children }) => (
  <div class="table" tabindex={0} role="region">
    <table>
      <thead>
        <tr>{columns.map((column) => <th scope="col">{column}</th>)}</tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

interface SecretProps {
  view: View;
  label: string;
  value: string;
  /** The address of the page before. */
  back: string;
}

/** A secret that is shown once. */
export const Secret: FC<SecretProps> = ({ view, label, value, back }) => (
  <section class="card narrow">
    <p>{label}</p>
    <p>
      <code class="secret">{value}</code>
    </p>
    <a class="button" href={back}>{view.words.back}</a>
  </section>
);
