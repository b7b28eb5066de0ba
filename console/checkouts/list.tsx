/** `/console/checkouts/`: finds checkouts. */

import type { FC } from "hono/jsx";
import { CHECKOUT_ALERTS, listCheckoutsWithAlert } from "../../core/checkouts/read.ts";
import type { CheckoutView } from "../../core/checkouts/views.ts";
import type { FieldError } from "../../core/errors.ts";
import { CheckoutListQuery, readCheckoutPage } from "../../http/lists/checkouts.ts";
import { encodeWalkCursor } from "../../http/lists/page.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { endOfDay, startOfDay } from "../shared/days.ts";
import { Time } from "../shared/elements.tsx";
import { errorsOf, issuesOf } from "../shared/explain.ts";
import { Boxes, Choice, Field } from "../shared/fields.tsx";
import {
  FilterPanel,
  filterQuery,
  filterSearch,
  type FilterValues,
  readFilters,
} from "../shared/filter_panel.tsx";
import { rupiah } from "../shared/format.ts";
import { choose, ListPage } from "../shared/list_page.tsx";
import type { SignedInView } from "../shared/session.ts";
import { checkoutMethodName, CheckoutStatusLabel } from "./display.tsx";

const PATH = "/checkouts/";

/** `from` and `to`: days in Jakarta on which the checkout was created. */
const FILTERS = ["status", "order_id", "from", "to"];

/** Alone: what staff have to decide about. Other filters are ignored then. */
const ALERT = "alert";

export function addCheckouts({ service, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const alert = choose(CHECKOUT_ALERTS, c.req.query(ALERT));
    const filters = readFilters(c.req.url, alert ? [ALERT] : FILTERS);
    const cursor = c.req.query("cursor");
    const parsed = CheckoutListQuery.safeParse({ ...toApiQuery(filters), cursor });
    const none = { view, filters, checkouts: [], next: null, isFirst: false };
    if (!parsed.success) {
      return page(c, <CheckoutsPage {...none} errors={issuesOf(parsed.error)} />, 400);
    }
    try {
      const { caller } = view.session;
      const { cursor: after = null, limit } = parsed.data;
      const { checkouts, next } = alert
        ? await listCheckoutsWithAlert(service, caller, alert, { after, limit })
        : await readCheckoutPage(service, caller, parsed.data);
      const found = { view, filters, checkouts, next: next && encodeWalkCursor(next), errors: [] };
      return page(c, <CheckoutsPage {...found} isFirst={cursor === undefined} />);
    } catch (thrown) {
      return page(c, <CheckoutsPage {...none} errors={errorsOf(thrown)} />, 400);
    }
  });
}

/** The filters as a query of `GET /checkouts/`. */
function toApiQuery(filters: FilterValues): Record<string, string | string[]> {
  const { from, to, alert: _, ...query } = filterQuery(filters);
  return {
    ...query,
    ...from && { created_from: typeof from === "string" ? startOfDay(from) : from },
    ...to && { created_to: typeof to === "string" ? endOfDay(to) : to },
  };
}

interface CheckoutsProps {
  view: SignedInView;
  filters: FilterValues;
  checkouts: CheckoutView[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  isFirst: boolean;
  errors: FieldError[];
}

const CheckoutsPage: FC<CheckoutsProps> = (props) => {
  const { view, filters, checkouts, next, isFirst, errors } = props;
  const { root, words: { checkoutsPage: words, ...shared }, session } = view;
  const hasErrors = errors.length > 0;
  const rows = checkouts.map((checkout) => {
    const chosen = checkout.attempts.at(-1);
    return [
      rupiah(checkout.gross_amount),
      <CheckoutStatusLabel view={view} checkout={checkout} />,
      <a href={`${root}${PATH}${checkout.id}/`}>{checkout.order_id}</a>,
      chosen ? checkoutMethodName(view.words, chosen.method) : "–",
      <Time view={view} at={checkout.expires_at} />,
      <Time view={view} at={checkout.created_at} />,
    ];
  });
  return (
    <ListPage
      view={view}
      title={words.title}
      path={PATH}
      columns={[
        shared.amount,
        shared.status,
        shared.order,
        shared.method,
        shared.expires,
        shared.created,
      ]}
      amounts={[0]}
      class="payments"
      rows={rows}
      next={next}
      query={[...filterSearch(filters)]}
      empty={hasErrors ? null : next === null ? words.none : words.noneOnPage}
      isLive={isFirst}
      action={session.caller.isStaff && (
        <a class="button primary" href={`${root}${PATH}new/`}>{words.create}</a>
      )}
    >
      <CheckoutFilters view={view} filters={filters} errors={errors} />
    </ListPage>
  );
};

interface FiltersProps {
  view: SignedInView;
  filters: FilterValues;
  errors: FieldError[];
}

const CheckoutFilters: FC<FiltersProps> = ({ view, filters, errors }) => {
  const { words: { checkoutsPage: words, ...shared } } = view;
  const labels = {
    status: shared.status,
    order_id: words.orderId,
    alert: words.alert,
    from: words.createdFrom,
    to: words.createdTo,
    // The names of `from` and `to` in the errors of the core.
    created_from: words.createdFrom,
    created_to: words.createdTo,
  };
  const alerts = { paid_twice: words.twice, paid_late: words.late };
  const input = (name: keyof typeof labels, type = "text") => (
    <Field name={name} label={labels[name]} type={type} value={filters.get(name)?.[0] ?? ""} />
  );
  return (
    <FilterPanel
      view={view}
      path={PATH}
      filters={filters}
      labels={labels}
      names={{ status: words.statuses, alert: alerts }}
      errors={errors}
    >
      <Boxes
        name="status"
        label={shared.status}
        chosen={filters.get("status") ?? []}
        options={Object.entries(words.statuses)}
      />
      <div class="fields">
        {input("order_id")}
        {input("from", "date")}
        {input("to", "date")}
        <Choice
          name={ALERT}
          label={words.alert}
          value={filters.get(ALERT)?.[0] ?? ""}
          options={alerts}
          any={shared.any}
        />
      </div>
    </FilterPanel>
  );
};
