/** Downloads of CSV files. */

import type { FC } from "hono/jsx";
import type { ConsoleContext } from "./base.tsx";
import type { SignedInView } from "./session.ts";

interface ExportProps {
  view: SignedInView;
  /** The path of the list in the console, such as `/refunds/`. */
  path: string;
  /** The filters of the list. */
  search: URLSearchParams;
}

/** Downloads the list as a file. */
export const ExportLink: FC<ExportProps> = ({ view, path, search }) => (
  <a class="button" href={`${view.root}${path}export/?${search}`}>{view.words.exportCsv}</a>
);

export function sendCsv(c: ConsoleContext, name: string, text: string): Response {
  return c.body(text, 200, {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${name.replaceAll(/[^\w-]/g, "")}.csv"`,
  });
}
