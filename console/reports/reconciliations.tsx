/** `/console/reconciliations/`: reports of the gateway. Staff upload them. */

import type { FC } from "hono/jsx";
import { requireStaff } from "../../core/auth/caller.ts";
import { ServiceError } from "../../core/errors.ts";
import {
  listReconciliations,
  MAX_FILE_BYTES,
  type ReconciliationSummaryView,
  uploadReport,
} from "../../core/reports/reconciliations.ts";
import { type ColumnNames, REPORT_COLUMNS } from "../../core/reports/report_file.ts";
import { createFixedResponse } from "../../openapi/fixed_response.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import { recordError } from "../../http/problems/render.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { FormToken, Table, Time } from "../shared/elements.tsx";
import { explain } from "../shared/explain.ts";
import { Frame } from "../shared/frame.tsx";
import { cursorOf, PAGE_SIZE } from "../shared/list_page.tsx";
import { requireOwnForm, type SignedInView, type View } from "../shared/session.ts";
import { countDifferences } from "./differences.tsx";
import { periodOf, ReconciliationStatus } from "./reconciliation.tsx";
import { readUpload } from "./upload.ts";

const PATH = "/reconciliations/";

export function addReconciliations({ service, root, router, signedIn, page }: ConsoleBase): void {
  router.get(
    "/upload.js/",
    createFixedResponse({
      contentType: "text/javascript; charset=utf-8",
      cacheControl: "no-cache",
      text: async () => (await import("./upload.js", { with: { type: "text" } })).default,
    }),
  );

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { reconciliations, next } = await listReconciliations(service, view.session.caller, {
      limit: PAGE_SIZE,
      before: cursorOf(c),
    });
    return page(
      c,
      <ReconciliationsPage
        view={view}
        reconciliations={reconciliations}
        next={next && encodeCursor(next)}
        sent={NOTHING_SENT}
      />,
    );
  });

  /** The file can be large, so this is the only form that is not limited and parsed by `formOf`. */
  router.post(PATH, async (c) => {
    const view = await signedIn(c);
    const { caller } = view.session;
    const { fields, file, skipRest } = await readUpload(c.req.raw);
    requireOwnForm(c, view.session, fields.get("token"));
    requireStaff(caller);
    const columns = columnsOf(fields);
    const isConfirmed = fields.get("confirm_checks") === "true";
    try {
      const { reconciliation, isQueued } = await uploadReport(service, caller, file, {
        columns,
        isConfirmed,
      });
      const known = isQueued ? "" : "?done=known";
      return c.redirect(`${root}${PATH}${reconciliation.id}/${known}`, 303);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      await skipRest();
      const problem = recordError(thrown, c.env);
      const words = view.words.reconciliationPage;
      const labels = { body: words.file, file: words.file, columns: words.options };
      const error = `${words.nothingUsed} ${explain(view, problem, labels)}`;
      const { reconciliations, next } = await listReconciliations(service, caller, {
        limit: PAGE_SIZE,
        before: null,
      });
      return page(
        c,
        <ReconciliationsPage
          view={view}
          reconciliations={reconciliations}
          next={next && encodeCursor(next)}
          sent={{ columns, isConfirmed, error }}
        />,
        problem.status as 400 | 413,
      );
    }
  });
}

function columnsOf(fields: Map<string, string>): ColumnNames {
  const named = REPORT_COLUMNS.map((column) => [column, fields.get(`column_${column}`)?.trim()]);
  return Object.fromEntries(named.filter(([, name]) => name));
}

/** What the form contains; after an error, what was sent. */
interface SentForm {
  columns: ColumnNames;
  isConfirmed: boolean;
  error: string | null;
}

const NOTHING_SENT: SentForm = { columns: {}, isConfirmed: false, error: null };

interface PageProps {
  view: SignedInView;
  reconciliations: ReconciliationSummaryView[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  sent: SentForm;
}

const ReconciliationsPage: FC<PageProps> = ({ view, reconciliations, next, sent }) => {
  const { root, session } = view;
  const words = view.words.reconciliationPage;
  return (
    <Frame view={view} title={words.title} path={PATH}>
      <h1>{words.title}</h1>
      <p class="subtitle">{words.purpose}</p>
      {session.caller.isStaff && <UploadForm view={view} sent={sent} />}
      {reconciliations.length === 0
        ? <p class="empty">{words.empty}</p>
        : <ReconciliationTable view={view} reconciliations={reconciliations} />}
      {next !== null && (
        <a class="next" href={`${root}${PATH}?cursor=${next}`}>{view.words.nextPage}</a>
      )}
    </Frame>
  );
};

const ReconciliationTable: FC<Pick<PageProps, "view" | "reconciliations">> = (props) => {
  const { view, reconciliations } = props;
  const { root, words } = view;
  const { period, lines, differences, states, by } = words.reconciliationPage;
  const text = (count: number | null) => count?.toLocaleString(words.locale) ?? "–";
  return (
    <Table
      label={words.reconciliationPage.title}
      columns={[period, words.created, by, lines, differences, states.open, words.status]}
      amounts={[3, 4, 5]}
      class="cards"
    >
      {reconciliations.map((each) => (
        <tr>
          <td>
            <a href={`${root}${PATH}${each.id}/`}>{periodOf(view, each)}</a>
          </td>
          <td>
            <Time view={view} at={each.created_at} />
          </td>
          <td>{each.user_id}</td>
          <td class="amount">{text(each.lines)}</td>
          <td class="amount">{text(countDifferences(each))}</td>
          <td class="amount">{text(each.open_differences)}</td>
          <td>
            <ReconciliationStatus view={view} reconciliation={each} />
          </td>
        </tr>
      ))}
    </Table>
  );
};

/** The file is the last field, because the service reads the form while it arrives. */
const UploadForm: FC<{ view: View; sent: SentForm }> = ({ view, sent }) => {
  const { root } = view;
  const words = view.words.reconciliationPage;
  const { columns, isConfirmed, error } = sent;
  const isOpen = isConfirmed || Object.keys(columns).length > 0;
  return (
    <form
      class="card upload"
      method="post"
      action={root + PATH}
      enctype="multipart/form-data"
      data-max-bytes={MAX_FILE_BYTES}
      data-too-large={words.tooLarge}
      data-interrupted={words.interrupted}
    >
      <h2>{words.upload}</h2>
      <p role="alert" class="error" hidden={error === null}>{error}</p>
      <FormToken view={view} />
      <details class="folded" open={isOpen}>
        <summary>{words.options}</summary>
        <p class="help">{words.columnsHelp}</p>
        <datalist id="headers"></datalist>
        <div class="fields">
          {REPORT_COLUMNS.map((column) => (
            <div>
              <label for={`column_${column}`}>{words.columns[column]}</label>
              <input
                id={`column_${column}`}
                name={`column_${column}`}
                list="headers"
                maxlength={200}
                autocomplete="off"
                value={columns[column] ?? ""}
              />
            </div>
          ))}
        </div>
        <p>
          <input
            type="checkbox"
            id="confirm_checks"
            name="confirm_checks"
            value="true"
            checked={isConfirmed}
          />
          <label for="confirm_checks">{words.confirmChecks}</label>
        </p>
      </details>
      <label for="file">{words.file}</label>
      <div class="actions">
        <input id="file" name="file" type="file" accept=".csv,text/csv,text/plain" required />
        <button type="submit" class="primary">{words.upload}</button>
      </div>
      <progress aria-label={words.uploading} hidden></progress>
      <p class="help">{words.fileHelp}</p>
      <script src={`${root}/upload.js`} defer></script>
    </form>
  );
};
