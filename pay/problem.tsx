/** The page for a link that leads to nothing, and for a moment in which no page can be shown. */

import type { PageModel } from "./model.ts";
import { Line } from "./methods.tsx";
import { wordsOf } from "./words.ts";

export interface ProblemModel {
  language: PageModel["language"];
  /** The path of the page; its files are next to it. */
  path: string;
  /** `unknown`: no payment has this link. `unavailable`: the customer can try again. */
  kind: "unknown" | "unavailable";
}

export function renderProblem({ language, path, kind }: ProblemModel): string {
  const { problems, skip } = wordsOf(language);
  const { title, help } = problems[kind];
  const assets = path.slice(0, path.lastIndexOf("/"));
  return `<!DOCTYPE html>${(
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        <link rel="icon" href={`${assets}/icon.svg`} />
        <link rel="stylesheet" href={`${assets}/pay.css`} />
      </head>
      <body>
        <a class="skip" href="#main">{skip}</a>
        <div id="page" class="page screen-failed">
          <main id="main">
            <div class="card outcome bad">
              <span class="mark" aria-hidden="true">
                <Line>
                  <path d="m8 8 8 8M16 8l-8 8" />
                </Line>
              </span>
              <h1 id="heading" tabindex={-1}>{title}</h1>
              <p>{help}</p>
              {kind === "unavailable" && (
                <a class="button main" href={`${path}?lang=${language}`}>{problems.again}</a>
              )}
            </div>
          </main>
        </div>
      </body>
    </html>
  )}`;
}
