/** The page of an error. */

import type { FC } from "hono/jsx";
import { Frame } from "./frame.tsx";
import type { View } from "./session.ts";

interface ProblemProps {
  view: View;
  /** What went wrong, and what to do next. */
  text: string;
  requestId: string;
  /** Whether the browser loads the page again. */
  isRetried: boolean;
}

export const ProblemPage: FC<ProblemProps> = ({ view, text, requestId, isRetried }) => (
  <Frame view={view} title={view.words.failed} path="/">
    <section class="card narrow">
      <h1>{view.words.failed}</h1>
      <p role="alert" class="error">{text}</p>
      {isRetried && <p>{view.words.retriedByItself}</p>}
      <p class="help">{view.words.request} {requestId}</p>
      <a class="button" href={`${view.root}/`}>{view.words.back}</a>
    </section>
  </Frame>
);
