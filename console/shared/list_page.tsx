/** The pages of lists: a table, a filter by status, and a link to the next page. */

import type { Child, FC } from "hono/jsx";
import type { WalkCursor } from "../../core/lists/page.ts";
import { filteredPaging, paging } from "../../http/lists/page.ts";
import type { ConsoleContext } from "./base.tsx";
import { Table } from "./elements.tsx";
import { Frame } from "./frame.tsx";
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
  /** The text of an empty list; null: none, because the filters are invalid. */
  empty?: string | null;
  /** A link above the title. */
  back?: Child;
  /** The result of the form that was sent before. */
  message?: string | null;
  /** Whether events update the page. */
  isLive?: boolean;
  /** The columns with amounts. */
  amounts?: number[];
  /** The class of the table, for the stylesheet. */
  class?: string;
  /** A link or a button at the title. */
  action?: Child;
  children?: Child;
}

export const ListPage: FC<ListProps> = (props) => {
  const { view, title, path, columns, rows, next, status, message, isLive, children } = props;
  const { amounts = [], class: name, action, query = [], back } = props;
  const { root, words } = view;
  const { empty = words.nothing } = props;
  return (
    <Frame view={view} title={title} path={path} live={isLive ? "*" : undefined}>
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
        {rows.length > 0 && (
          <Table
            label={title}
            columns={columns}
            amounts={amounts}
            class={name ? `${name} cards` : "cards"}
          >
            {rows.map((cells) => (
              <tr>
                {cells.map((cell, index) =>
                  amounts.includes(index) ? <td class="amount">{cell}</td> : <td>{cell}</td>
                )}
              </tr>
            ))}
          </Table>
        )}
        {rows.length === 0 && empty !== null && <p class="empty">{empty}</p>}
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

/** The value that the URL contains, if it is one of `values`; otherwise null. */
export function choose<T extends string>(values: readonly T[], sent: string | undefined): T | null {
  return values.find((value) => value === sent) ?? null;
}

/** Where the page starts; an invalid cursor starts at the beginning. */
export function cursorOf(c: ConsoleContext): string | null {
  return paging.cursor.safeParse(c.req.query("cursor")).data ?? null;
}

/** Like `cursorOf`, for a list whose pages can have fewer than `PAGE_SIZE` rows before the end. */
export function walkCursorOf(c: ConsoleContext): WalkCursor | null {
  return filteredPaging.cursor.safeParse(c.req.query("cursor")).data ?? null;
}

/** Rows of a page. */
export const PAGE_SIZE = 50;
