/** `/console/audit/`: who changed what, and who was refused. */

import { pathByRoute } from "../shared/resource_paths.ts";
import type { Child, FC } from "hono/jsx";
import {
  AUDIT_OUTCOMES,
  type AuditView,
  listAudit,
  parseResourceId,
} from "../../core/audit/read.ts";
import { AUDIT_KINDS } from "../../core/audit/kinds.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { timesOf } from "../shared/days.ts";
import { Label, shorten, Time, type Tone } from "../shared/elements.tsx";
import { Choice, Field, SuggestingField } from "../shared/fields.tsx";
import { FilterBar, readFields, sentFields } from "../shared/filter_bar.tsx";
import { choose, cursorOf, ListPage, PAGE_SIZE } from "../shared/list_page.tsx";
import type { SignedInView, View } from "../shared/session.ts";

const PATH = "/audit/";

const FIELDS = ["actor", "kind", "action", "resource", "outcome", "from", "to"] as const;

export function addAudit({ service, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const query = readFields(c, FIELDS);
    const { created_from = null, created_to = null } = timesOf(query);
    const { entries, next } = await listAudit(service, view.session.caller, {
      actor: query.actor || null,
      action: query.action || null,
      kind: choose(AUDIT_KINDS, query.kind),
      resourceId: query.resource === "" ? null : parseResourceId(query.resource),
      outcome: choose(AUDIT_OUTCOMES, query.outcome),
      createdFrom: created_from,
      createdTo: created_to,
      limit: PAGE_SIZE,
      before: cursorOf(c),
    });
    return page(c, <AuditPage {...{ view, query, entries, next }} />);
  });
}

interface AuditProps {
  view: SignedInView;
  query: Record<typeof FIELDS[number], string>;
  entries: AuditView[];
  next: string | null;
}

const AuditPage: FC<AuditProps> = ({ view, query, entries, next }) => {
  const { words } = view;
  const { title, actor, action, resource, noneOnPage } = words.auditPage;
  return (
    <ListPage
      view={view}
      title={title}
      path={PATH}
      columns={[words.created, actor, action, words.result, resource]}
      rows={entries.map((entry) => cellsOf(view, entry))}
      next={next && encodeCursor(next)}
      query={sentFields(query)}
      empty={next === null ? undefined : noneOnPage}
    >
      <FilterBar view={view} path={PATH} days={query}>
        <SuggestingField
          name="actor"
          label={actor}
          value={query.actor}
          options={entries.map(({ actor }) => actor)}
        />
        <Choice
          name="kind"
          label={action}
          value={choose(AUDIT_KINDS, query.kind) ?? ""}
          options={words.auditPage.kinds}
          any={words.any}
        />
        <SuggestingField
          name="action"
          label={words.auditPage.route}
          value={query.action}
          options={entries.map(({ action }) => action)}
        />
        <Field
          name="resource"
          label={words.auditPage.resourceId}
          type="text"
          value={query.resource}
        />
        <Choice
          name="outcome"
          label={words.result}
          value={choose(AUDIT_OUTCOMES, query.outcome) ?? ""}
          options={words.auditPage.outcomes}
          any={words.any}
        />
      </FilterBar>
    </ListPage>
  );
};

function cellsOf(view: View, entry: AuditView): Child[] {
  return [
    <Time view={view} at={entry.created_at} />,
    <Actor view={view} entry={entry} />,
    <>
      {entry.kind && (
        <FilterLink view={view} name="kind" value={entry.kind}>
          {view.words.auditPage.kinds[entry.kind]}
        </FilterLink>
      )}
      <FilterLink view={view} name="action" value={entry.action} isFaint={entry.kind !== null} />
      {entry.request_id && (
        <span class="faint">{view.words.request} {shorten(entry.request_id, 40)}</span>
      )}
    </>,
    <Outcome view={view} entry={entry} />,
    <div class="id">
      <Changed view={view} entry={entry} />
    </div>,
  ];
}

interface EntryProps {
  view: View;
  entry: AuditView;
}

const Actor: FC<EntryProps> = ({ view, entry: { actor, actor_name, user_id } }) => (
  <>
    <FilterLink view={view} name="actor" value={actor}>
      {actor.startsWith("checkout:") ? view.words.customer : actor_name ?? actor}
    </FilterLink>
    <span class="faint">
      {[actor_name && actor, user_id === actor_name ? null : user_id].filter(Boolean).join(" · ")}
    </span>
  </>
);

interface FilterLinkProps {
  view: View;
  name: string;
  value: string;
  isFaint?: boolean;
  /** The text of the link; absent: the value. */
  children?: Child;
}

const FilterLink: FC<FilterLinkProps> = ({ view, name, value, isFaint, children }) => (
  <a
    class={isFaint ? "quiet faint" : "quiet"}
    href={`${view.root}${PATH}?${new URLSearchParams({ [name]: value })}`}
  >
    {children ?? value}
  </a>
);

/** A link to what the request was about. */
const Changed: FC<EntryProps> = ({ view, entry: { action, resource_id } }) => {
  if (resource_id === null) return <>–</>;
  const [, area = ""] = action.match(/^\w+ (?:\/console)?\/([\w-]+)\//) ?? [];
  if (area === "keys") return <a href={`${view.root}/keys/`}>{resource_id}</a>;
  const path = pathByRoute(area, resource_id);
  return path ? <a href={view.root + path}>{resource_id}</a> : <code>{resource_id}</code>;
};

const TONES: Record<AuditView["outcome"], Tone> = {
  changed: "good",
  exported: "plain",
  refused: "bad",
};

const Outcome: FC<EntryProps> = ({ view, entry: { outcome, code, attempts } }) => (
  <>
    <Label tone={TONES[outcome]}>{view.words.auditPage.outcomes[outcome]}</Label>
    {(code || attempts > 1) && (
      <span class="faint">
        {[code, attempts > 1 ? `${attempts}×` : null].filter(Boolean).join(" ")}
      </span>
    )}
  </>
);
