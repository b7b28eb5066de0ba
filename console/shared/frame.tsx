/** The frame of every page of the console: head, navigation and footer. */

import type { Child, FC } from "hono/jsx";
import { roleOf } from "../../core/auth/caller.ts";
import { EVENT_NAMES } from "../../core/events/names.ts";
import { FormToken } from "./elements.tsx";
import { THEMES, type View } from "./session.ts";
import { LANGUAGES, wordsOf } from "../words/languages.ts";

interface FrameProps {
  view: View;
  title: string;
  /** The path of the page in the console, such as `/payments/`. */
  path: string;
  /** The id of the resource whose events update the page; `*`: all resources; absent: none. */
  live?: string;
  children?: Child;
}

export const Frame: FC<FrameProps> = ({ view, title, path, live, children }) => {
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
        data-events={live && EVENT_NAMES.join(" ")}
      >
        <a class="skip" href="#main">{words.skip}</a>
        <header class="top">
          {session && (
            <button type="button" class="menu" popovertarget="navigation">{words.menu}</button>
          )}
          <a class="brand" href={`${root}/`}>Payment Gateway</a>
        </header>
        <div class="shell">
          {session && <Navigation view={view} path={path} />}
          <div class="page">
            <main id="main">{children}</main>
            <footer>
              <Preferences view={view} path={path} />
            </footer>
          </div>
        </div>
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

/** The groups of the navigation, in their order. */
const GROUPS = [
  ["/"],
  ["/payments/", "/refunds/", "/checkouts/", "/invoices/", "/subscriptions/"],
  ["/reports/", "/reconciliations/"],
  ["/events/", "/webhooks/", "/notifications/", "/jobs/"],
  ["/keys/", "/sessions/", "/audit/", "/status/", "/doctor/"],
];

/** At the side of the page. On narrow screens it is a popover, which the menu button opens. */
const Navigation: FC<{ view: View; path: string }> = ({ view, path }) => {
  const { root, words, session } = view;
  const pages = {
    "/": words.overviewPage.title,
    "/payments/": words.payments,
    "/refunds/": words.refundsPage,
    "/checkouts/": words.checkoutsPage.title,
    "/invoices/": words.invoicesPage.title,
    "/subscriptions/": words.subscriptionsPage.title,
    "/reports/": words.reportsPage.title,
    "/reconciliations/": words.reconciliationPage.title,
    "/events/": words.eventsPage.title,
    "/webhooks/": words.webhooks,
    "/notifications/": words.notifications,
    "/jobs/": words.jobs,
    "/keys/": words.keys,
    "/sessions/": words.sessions,
    "/audit/": words.auditPage.title,
    "/status/": words.statusPage.title,
    "/doctor/": words.doctorPage.title,
  };
  const ungrouped = Object.keys(pages).filter((page) => !GROUPS.flat().includes(page));
  const groups = [...GROUPS, ungrouped].map((group) =>
    Object.entries(pages).filter(([page]) => group.includes(page))
      .sort(([a], [b]) => group.indexOf(a) - group.indexOf(b))
  ).filter((group) => group.length > 0);
  const role = roleOf(session!.caller);
  return (
    <div id="navigation" class="side" popover="auto">
      <nav aria-label={words.console}>
        {groups.map((group) => (
          <ul>
            {group.map(([each, name]) => (
              <li>
                <a href={root + each} aria-current={currentOf(path, each)}>{name}</a>
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <form
        class="account"
        aria-label={words.user}
        method="post"
        action={`${root}/sign-out/`}
      >
        <span>
          {session!.caller.userId} · {role === "user" ? "" : words.roles[role]}
        </span>
        <FormToken view={view} />
        <button type="submit">{words.signOut}</button>
      </form>
    </div>
  );
};

/** Whether `page` is the page at `path`, or the list to which it belongs. */
function currentOf(path: string, page: string): "page" | "true" | undefined {
  if (path === page) return "page";
  return page !== "/" && path.startsWith(page) ? "true" : undefined;
}
