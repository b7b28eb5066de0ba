/** `/console/subscriptions/`: finds subscriptions. */

import type { FC } from "hono/jsx";
import type { FieldError } from "../../core/errors.ts";
import { listSubscriptions } from "../../core/subscriptions/read.ts";
import type { SubscriptionView } from "../../core/subscriptions/views.ts";
import { encodeWalkCursor } from "../../http/lists/page.ts";
import { SUBSCRIPTION_TYPES } from "../../core/subscriptions/subscription_input.ts";
import { SubscriptionListQuery } from "../../http/lists/subscriptions.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { breakEmail } from "../shared/customer_link.tsx";
import { Time } from "../shared/elements.tsx";
import { issuesOf } from "../shared/explain.ts";
import { Boxes, Choice, Field } from "../shared/fields.tsx";
import {
  FilterPanel,
  filterQuery,
  filterSearch,
  type FilterValues,
  readFilters,
} from "../shared/filter_panel.tsx";
import { methodName, rupiah } from "../shared/format.ts";
import { ListPage } from "../shared/list_page.tsx";
import type { SignedInView } from "../shared/session.ts";
import { customerName, nextCharge, SubscriptionStatusLabel } from "./display.tsx";

const PATH = "/subscriptions/";

const FILTERS = ["status", "name", "payment_type", "user_id"];

export function addSubscriptions({ service, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const filters = readFilters(c.req.url, FILTERS);
    const sent = c.req.query("cursor");
    const parsed = SubscriptionListQuery.safeParse({ ...filterQuery(filters), cursor: sent });
    if (!parsed.success) {
      const none = { view, filters, subscriptions: [], next: null, isFirst: false };
      return page(c, <SubscriptionsPage {...none} errors={issuesOf(parsed.error)} />, 400);
    }
    const { cursor, ...query } = parsed.data;
    const filter = { ...query, after: cursor ?? null };
    const { subscriptions, next } = await listSubscriptions(service, view.session.caller, filter);
    const found = {
      view,
      filters,
      subscriptions,
      next: next && encodeWalkCursor(next),
      errors: [],
    };
    return page(c, <SubscriptionsPage {...found} isFirst={sent === undefined} />);
  });
}

interface SubscriptionsProps {
  view: SignedInView;
  filters: FilterValues;
  subscriptions: SubscriptionView[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  isFirst: boolean;
  errors: FieldError[];
}

const SubscriptionsPage: FC<SubscriptionsProps> = (props) => {
  const { view, filters, subscriptions, next, isFirst, errors } = props;
  const { root, words: { subscriptionsPage: words, ...shared } } = view;
  const rows = subscriptions.map((subscription) => [
    rupiah(subscription.amount),
    words.every(subscription.interval, subscription.interval_unit),
    <SubscriptionStatusLabel view={view} status={subscription.status} />,
    <a href={`${root}${PATH}${subscription.id}/`}>{subscription.name}</a>,
    breakEmail(subscription.customer_email) ?? customerName(subscription) ?? "–",
    methodName(view.words, subscription.payment_type),
    <Time view={view} at={nextCharge(subscription)} />,
    <Time view={view} at={subscription.created_at} />,
  ]);
  return (
    <ListPage
      view={view}
      title={words.title}
      path={PATH}
      columns={[
        shared.amount,
        words.plan,
        shared.status,
        shared.name,
        shared.customer,
        shared.method,
        words.next,
        shared.created,
      ]}
      amounts={[0]}
      class="payments"
      rows={rows}
      next={next}
      query={[...filterSearch(filters)]}
      empty={errors.length > 0 ? null : next === null ? words.none : words.noneOnPage}
      isLive={isFirst}
    >
      <SubscriptionFilters view={view} filters={filters} errors={errors} />
    </ListPage>
  );
};

interface FiltersProps {
  view: SignedInView;
  filters: FilterValues;
  errors: FieldError[];
}

const SubscriptionFilters: FC<FiltersProps> = ({ view, filters, errors }) => {
  const { words: { subscriptionsPage: words, ...shared } } = view;
  const valueOf = (name: string) => filters.get(name)?.[0] ?? "";
  const types = Object.fromEntries(
    SUBSCRIPTION_TYPES.map((type) => [type, methodName(view.words, type)]),
  );
  const labels = {
    status: shared.status,
    name: shared.name,
    payment_type: shared.method,
    user_id: shared.user,
  };
  return (
    <FilterPanel
      view={view}
      path={PATH}
      filters={filters}
      labels={labels}
      names={{ status: words.statuses, payment_type: types }}
      errors={errors}
    >
      <Boxes
        name="status"
        label={labels.status}
        chosen={filters.get("status") ?? []}
        options={Object.entries(words.statuses)}
      />
      <div class="fields">
        <Field name="name" label={labels.name} type="text" value={valueOf("name")} />
        <Choice
          name="payment_type"
          label={labels.payment_type}
          value={valueOf("payment_type")}
          options={types}
          any={shared.any}
        />
        <Field name="user_id" label={labels.user_id} type="text" value={valueOf("user_id")} />
      </div>
    </FilterPanel>
  );
};
