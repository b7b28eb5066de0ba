/** `/console/audit/`: who changed what, and who was refused. */

import { pathByRoute } from "../shared/resource_paths.ts";
import type { FC } from "hono/jsx";
import {
  AUDIT_OUTCOMES,
  type AuditView,
  listAudit,
  parseResourceId,
} from "../../core/audit/read.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { timesOf } from "../shared/days.ts";
import { Label, shorten, Time, type Tone } from "../shared/elements.tsx";
import { Choice, Field, SuggestingField } from "../shared/fields.tsx";
import { FilterBar, readFields, sentFields } from "../shared/filter_bar.tsx";
import { choose, cursorOf, ListPage, PAGE_SIZE } from "../shared/list_page.tsx";
import type { View } from "../shared/session.ts";

const PATH = "/audit/";

export function addAudit({ deps, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words } = view;
    const query = readFields(c, ["actor", "action", "resource", "outcome", "from", "to"]);
    const outcome = choose(AUDIT_OUTCOMES, query.outcome);
    const { created_from = null, created_to = null } = timesOf(query);
    const { entries, next } = await listAudit(deps, view.session.caller, {
      actor: query.actor || null,
      action: query.action || null,
      resourceId: query.resource === "" ? null : parseResourceId(query.resource),
      outcome,
      createdFrom: created_from,
      createdTo: created_to,
      limit: PAGE_SIZE,
      before: cursorOf(c),
    });
    const rows = entries.map((entry) => [
      <Time view={view} at={entry.created_at} />,
      <Actor view={view} entry={entry} />,
      <>
        <FilterLink view={view} name="action" value={entry.action} />
        {entry.request_id && (
          <span class="faint">{words.request} {shorten(entry.request_id, 40)}</span>
        )}
      </>,
      <Outcome view={view} entry={entry} />,
      <div class="id">
        <Changed view={view} entry={entry} />
      </div>,
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.auditPage.title}
        path={PATH}
        columns={[
          words.created,
          words.auditPage.actor,
          words.auditPage.action,
          words.result,
          words.auditPage.resource,
        ]}
        rows={rows}
        next={next && encodeCursor(next)}
        query={sentFields(query)}
        empty={next === null ? undefined : words.auditPage.noneOnPage}
      >
        <FilterBar view={view} path={PATH} days={query}>
          <SuggestingField
            name="actor"
            label={words.auditPage.actor}
            value={query.actor}
            options={entries.map(({ actor }) => actor)}
          />
          <SuggestingField
            name="action"
            label={words.auditPage.action}
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
            value={outcome ?? ""}
            options={words.auditPage.outcomes}
            any={words.any}
          />
        </FilterBar>
      </ListPage>,
    );
  });
}

interface EntryProps {
  view: View;
  entry: AuditView;
}

const Actor: FC<EntryProps> = ({ view, entry: { actor, user_id } }) => (
  <>
    <FilterLink view={view} name="actor" value={actor} />
    {user_id && <span class="faint">{user_id}</span>}
  </>
);

const FilterLink: FC<{ view: View; name: string; value: string }> = ({ view, name, value }) => (
  <a class="quiet" href={`${view.root}${PATH}?${new URLSearchParams({ [name]: value })}`}>
    {value}
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
