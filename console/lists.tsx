/** The pages of lists: a table, a filter by status, and a link to the next page. */

import type { Child, FC } from "hono/jsx";
import type { Position } from "../core/page.ts";
import { filteredPaging, paging } from "../routes/shared/page.ts";
import { type ConsoleContext, EVENT_NAMES } from "./base.tsx";
import { Frame, Table } from "./frame.tsx";
import type { SignedInView } from "./session.ts";

interface ListProps {
  view: SignedInView;
  title: string;
  /** The path in the console, such as `/jobs/`. */
  path: string;
  columns: Child[];
  /** The cells of each row. */
  rows: Child[][];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  /** The chosen status and all statuses; absent: the list has no filter by status. */
  status?: {
    chosen: string;
    all: readonly string[];
    /** The names of the statuses in the user's language. */
    names?: Record<string, string>;
  };
  /** Other filters, for the link to the next page. */
  query?: string[][];
  /** The text of an empty list. */
  empty?: string;
  /** A link above the title. */
  back?: Child;
  /** The result of the form that was sent before. */
  message?: string | null;
  /** Whether events update the page. */
  isLive?: boolean;
  /** The columns with amounts. */
  amounts?: number[];
  /** A link or a button at the title. */
  action?: Child;
  children?: Child;
}

export const ListPage: FC<ListProps> = (props) => {
  const { view, title, path, columns, rows, next, status, message, isLive, children } = props;
  const { amounts = [], action, query = [], empty, back } = props;
  const { root, words } = view;
  return (
    <Frame
      view={view}
      title={title}
      path={path}
      live={isLive ? "*" : undefined}
      events={EVENT_NAMES}
    >
      {back}
      {action
        ? (
          <div class="heading">
            <h1>{title}</h1>
            {action}
          </div>
        )
        : <h1>{title}</h1>}
      {message && <p role="status" class="done">{message}</p>}
      {children}
      {status && (
        <form class="filters" action={root + path}>
          <div>
            <label for="status">{words.status}</label>
            <select id="status" name="status">
              <option value="">{words.any}</option>
              {status.all.map((each) => (
                <option value={each} selected={each === status.chosen}>
                  {status.names?.[each] ?? each}
                </option>
              ))}
            </select>
          </div>
          <button type="submit">{words.filter}</button>
        </form>
      )}
      <div data-part="rows">
        {rows.length === 0
          ? <p class="empty">{empty ?? words.nothing}</p>
          : (
            <Table columns={columns} amounts={amounts}>
              {rows.map((cells) => (
                <tr>
                  {cells.map((cell, index) =>
                    amounts.includes(index) ? <td class="amount">{cell}</td> : <td>{cell}</td>
                  )}
                </tr>
              ))}
            </Table>
          )}
        {next !== null && (
          <a
            class="next"
            href={`${root}${path}?${new URLSearchParams([
              ...query,
              ...status && status.chosen !== "" ? [["status", status.chosen]] : [],
              ["cursor", next],
            ])}`}
          >
            {words.nextPage}
          </a>
        )}
      </div>
    </Frame>
  );
};

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

/** The value that the URL contains, if it is one of `values`; otherwise null. */
export function choose<T extends string>(values: readonly T[], sent: string | undefined): T | null {
  return values.find((value) => value === sent) ?? null;
}

/** Where the page starts; an invalid cursor starts at the beginning. */
export function cursorOf(c: ConsoleContext): string | null {
  return paging.cursor.safeParse(c.req.query("cursor")).data ?? null;
}

/** Like `cursorOf`, for a list whose pages can have fewer than `PAGE_SIZE` rows before the end. */
export function positionOf(c: ConsoleContext): Position | null {
  return filteredPaging.cursor.safeParse(c.req.query("cursor")).data ?? null;
}

/** Rows of a page. */
export const PAGE_SIZE = 50;
