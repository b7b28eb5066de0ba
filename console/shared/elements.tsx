/** Elements of pages: cards, tables, facts, labels, times, links, buttons, JSON and secrets. */

import type { Child, FC } from "hono/jsx";
import { jakartaTime, rupiah, utcTime } from "./format.ts";
import type { SignedInView, View } from "./session.ts";

/** Proves that a page of the console sent the form. Every form of a signed-in page has it. */
export const FormToken: FC<{ view: View }> = ({ view }) => (
  <input type="hidden" name="token" value={view.session!.formToken} />
);

/** A time in Jakarta; the tooltip has UTC. */
export const Time: FC<{ view: View; at: string | null; hasSeconds?: boolean }> = (
  { view, at, hasSeconds },
) =>
  at === null ? <>–</> : (
    <time datetime={at} title={utcTime(at)}>
      {jakartaTime(at, view.words.locale, hasSeconds ? "medium" : "short")}
    </time>
  );

/** A part of a page with a title. */
export const Card: FC<{ id: string; title: string; children?: Child }> = (
  { id, title, children },
) => (
  <section class="card" aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
);

interface TableProps {
  /** What the table shows; screen readers announce it when it gets the focus. */
  label: string;
  columns: Child[];
  /** The columns with amounts, whose titles are at the right like the amounts. */
  amounts?: number[];
  /** For the stylesheet; `cards`: on phones each row is a card. */
  class?: string;
  children?: Child;
}

/** A table that scrolls on narrow screens. A group, because its card is a region already. */
export const Table: FC<TableProps> = ({ label, columns, amounts = [], class: name, children }) => (
  <div class={name ? `table ${name}` : "table"} tabindex={0} role="group" aria-label={label}>
    <table>
      <thead>
        <tr>
          {columns.map((column, index) => {
            // A column of buttons has no title, and a header cell must not be empty.
            if (column === "") return <td></td>;
            return amounts.includes(index)
              ? <th scope="col" class="amount">{column}</th>
              : <th scope="col">{column}</th>;
          })}
        </tr>
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

/** Facts without a value are left out. */
export const Facts: FC<{ facts: Record<string, Child> }> = ({ facts }) => (
  <dl>
    {Object.entries(facts).filter(([, value]) => value !== null && value !== "").map((
      [name, value],
    ) => (
      <div>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** The gateway chooses these addresses: only web addresses become links. */
export function linkTo(url: string | null): Child {
  if (url === null) return null;
  return /^https?:\/\//.test(url)
    ? <a href={url} rel="noreferrer" target="_blank">{url}</a>
    : <code>{url}</code>;
}

interface LinkCardProps {
  view: View;
  title: string;
  url: string;
  /** Whom to send it to. */
  help?: string | false;
}

/** A link for a customer. Selectable without scripts; with scripts, a button copies it. */
export const LinkCard: FC<LinkCardProps> = ({ view: { words }, title, url, help }) => (
  <Card id="link" title={title}>
    <p>
      <code id="payment-link" class="secret">{url}</code>
    </p>
    <div class="actions">
      <button type="button" data-copy="payment-link" data-copied={words.copied}>
        {words.copyLink}
      </button>
      {/^https?:\/\//.test(url) && (
        <a class="button" href={url} rel="noreferrer" target="_blank">{words.openLink}</a>
      )}
    </div>
    {help && <p class="help">{help}</p>}
  </Card>
);

export type Tone = "good" | "wait" | "bad" | "plain";

/** A state as a coloured label. */
export const Label: FC<{ tone: Tone; children?: Child }> = ({ tone, children }) => (
  <span class={`status ${tone}`}>{children}</span>
);

interface BackLinkProps {
  view: View;
  /** The path in the console, such as `/jobs/`. */
  to: string;
  children?: Child;
}

export const BackLink: FC<BackLinkProps> = ({ view, to, children }) => (
  <p class="no-print">
    <a href={view.root + to}>← {children}</a>
  </p>
);

interface ActionButtonProps {
  view: SignedInView;
  /** The path in the console that the form is sent to. */
  to: string;
  /** Further hidden fields. */
  fields?: Record<string, string>;
  children?: Child;
}

/** A form that consists of a button. Viewers do not see it. */
export const ActionButton: FC<ActionButtonProps> = ({ view, to, fields = {}, children }) => {
  if (!view.session.caller.isStaff) return null;
  return (
    <form method="post" action={view.root + to}>
      <FormToken view={view} />
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit">{children}</button>
    </form>
  );
};

interface RecordActionsProps {
  view: SignedInView;
  /** The path of the record in the console, such as `/payments/{id}/`. */
  path: string;
  /** The last part of the path of each action, and its name. */
  actions: (readonly [string, string])[];
  /** Shown if there are no actions. */
  none: string;
  /** False for a checkout, which the gateway does not know: its payments can be checked. */
  canCheck?: boolean;
}

/** What staff can do with a payment, an invoice, a subscription or a checkout. */
export const RecordActions: FC<RecordActionsProps> = (props) => {
  const { view, path, actions, none, canCheck = true } = props;
  const { root, words, session } = view;
  if (!session.caller.isStaff) return <p class="card no-print">{words.viewersCannotAct}</p>;
  return (
    <Card id="actions" title={words.actions}>
      {actions.length === 0 && <p>{none}</p>}
      <div class="actions">
        {actions.map(([action, name]) => (
          <a class="button" href={`${root}${path}${action}/`}>{name}</a>
        ))}
      </div>
      {canCheck && (
        <ActionButton view={view} to={`${path}check-status/`}>{words.checkStatus}</ActionButton>
      )}
    </Card>
  );
};

/** A page must not become too large: quotes take six characters in HTML. */
const MAX_JSON = 12_000;

interface JsonProps {
  view: View;
  value: unknown;
  /** Characters that are shown; fewer if a page has several of them. */
  max?: number;
}

/** JSON as indented text, cut off after `max` characters. */
export const Json: FC<JsonProps> = ({ view, value, max = MAX_JSON }) => {
  const text = JSON.stringify(value, null, 2) ?? "";
  return (
    <>
      <pre class="json" tabindex={0}>{text.slice(0, max).toWellFormed()}</pre>
      {text.length > max && <p class="help">{view.words.shortened}</p>}
    </>
  );
};

/** The caller's own data: a line for each member; nested data as JSON. */
export const Metadata: FC<{ value: Record<string, unknown> }> = ({ value }) => (
  <ul class="metadata">
    {Object.entries(value).map(([name, member]) => (
      <li>
        <span class="faint">{name}</span>
        {typeof member === "object" && member !== null
          ? <code>{JSON.stringify(member, null, 2)}</code>
          : String(member)}
      </li>
    ))}
  </ul>
);

/** The beginning of a text of another system, for a table. */
export function shorten(text: string, max = 160): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;
}

interface ItemTableProps {
  view: View;
  items: readonly { name: string; price: string; quantity: number; subtotal: string }[];
}

/** The line items of a payment or an invoice. */
export const ItemTable: FC<ItemTableProps> = ({ view: { words }, items }) => (
  <Table
    label={words.items}
    class="cards"
    columns={[words.item, words.price, words.quantity, words.subtotal]}
    amounts={[1, 2, 3]}
  >
    {items.map(({ name, price, quantity, subtotal }) => (
      <tr>
        <td class="wide">{name}</td>
        <td class="amount">{rupiah(price)}</td>
        <td class="amount">{quantity}</td>
        <td class="amount">{rupiah(subtotal)}</td>
      </tr>
    ))}
  </Table>
);
