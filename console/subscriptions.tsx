/** `/console/subscriptions/`: finds subscriptions. */

import type { FC } from "hono/jsx";
import type { FieldError } from "../core/errors.ts";
import { listSubscriptions } from "../core/subscriptions/read.ts";
import type { SubscriptionStatus } from "../core/subscriptions/states.ts";
import type { SubscriptionView } from "../core/subscriptions/views.ts";
import { encodePosition } from "../routes/shared/page.ts";
import { SUBSCRIPTION_TYPES, SubscriptionListQuery } from "../routes/subscriptions/routes.ts";
import { type ConsoleBase, EVENT_NAMES } from "./base.tsx";
import {
  Choice,
  Choices,
  Field,
  FilterErrors,
  type Filters,
  issuesOf,
  readFilters,
  toQuery,
  viewUrl,
} from "./fields.tsx";
import { methodName, rupiah } from "./format.ts";
import { Frame, Table, Time } from "./frame.tsx";
import type { SignedInView, View } from "./session.ts";

const PATH = "/subscriptions/";

const FILTERS = ["status", "name", "payment_type", "user_id"];

export function addSubscriptions({ deps, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const filters = readFilters(c.req.url, FILTERS);
    const sent = c.req.query("cursor");
    const parsed = SubscriptionListQuery.safeParse({ ...toQuery(filters), cursor: sent });
    if (!parsed.success) {
      const none = { view, filters, subscriptions: [], next: null, isFirst: true };
      return page(c, <SubscriptionsPage {...none} errors={issuesOf(parsed.error)} />, 400);
    }
    const { cursor, ...query } = parsed.data;
    const filter = { ...query, after: cursor ?? null };
    const { subscriptions, next } = await listSubscriptions(deps, view.session.caller, filter);
    const found = { view, filters, subscriptions, next: next && encodePosition(next), errors: [] };
    return page(c, <SubscriptionsPage {...found} isFirst={sent === undefined} />);
  });
}

interface SubscriptionsProps {
  view: SignedInView;
  filters: Filters;
  subscriptions: SubscriptionView[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  isFirst: boolean;
  errors: FieldError[];
}

const SubscriptionsPage: FC<SubscriptionsProps> = (props) => {
  const { view, filters, subscriptions, next, isFirst, errors } = props;
  const { root, words: { subscriptionsPage: words, ...shared } } = view;
  const labels = {
    status: shared.status,
    name: shared.name,
    payment_type: shared.method,
    user_id: shared.user,
  };
  return (
    <Frame
      view={view}
      title={words.title}
      path={PATH}
      live={isFirst ? "*" : undefined}
      events={EVENT_NAMES}
    >
      <h1>{words.title}</h1>
      <SubscriptionFilters view={view} filters={filters} />
      <FilterErrors view={view} errors={errors} labels={labels} />
      {subscriptions.length > 0 && (
        <Table
          columns={[
            shared.created,
            shared.name,
            shared.customer,
            shared.method,
            <span class="amount">{shared.amount}</span>,
            words.plan,
            words.next,
            shared.status,
          ]}
        >
          {subscriptions.map((subscription) => (
            <tr>
              <td>
                <Time view={view} at={subscription.created_at} />
              </td>
              <td>
                <a href={`${root}${PATH}${subscription.id}/`}>{subscription.name}</a>
              </td>
              <td>{subscription.customer_email ?? customerName(subscription) ?? "–"}</td>
              <td>{methodName(subscription.payment_type)}</td>
              <td class="amount">{rupiah(subscription.amount)}</td>
              <td>{words.every(subscription.interval, subscription.interval_unit)}</td>
              <td>
                <Time view={view} at={nextCharge(subscription)} />
              </td>
              <td>
                <SubscriptionStatusLabel view={view} status={subscription.status} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {subscriptions.length === 0 && errors.length === 0 && (
        <p class="empty">{next === null ? words.none : words.noneOnPage}</p>
      )}
      {next !== null && (
        <a class="next" href={viewUrl(root + PATH, filters, next)}>{shared.nextPage}</a>
      )}
    </Frame>
  );
};

export function customerName(subscription: SubscriptionView): string | null {
  const { customer_first_name, customer_last_name } = subscription;
  return [customer_first_name, customer_last_name].filter(Boolean).join(" ") || null;
}

/** Only an active subscription is charged. */
export function nextCharge({ status, next_execution_at }: SubscriptionView): string | null {
  return status === "active" ? next_execution_at : null;
}

const SubscriptionFilters: FC<{ view: View; filters: Filters }> = ({ view, filters }) => {
  const { root, words: { subscriptionsPage: words, ...shared } } = view;
  const valueOf = (name: string) => filters.get(name)?.[0] ?? "";
  const types = Object.fromEntries(SUBSCRIPTION_TYPES.map((type) => [type, methodName(type)]));
  return (
    <form class="filters" action={root + PATH}>
      <Choices
        name="status"
        label={shared.status}
        chosen={filters.get("status") ?? []}
        options={words.statuses}
      />
      <Field name="name" label={shared.name} value={valueOf("name")} />
      <Choice
        name="payment_type"
        label={shared.method}
        value={valueOf("payment_type")}
        options={types}
        any={shared.any}
      />
      <Field name="user_id" label={shared.user} value={valueOf("user_id")} />
      <button type="submit">{shared.filter}</button>
      <a href={root + PATH}>{shared.reset}</a>
    </form>
  );
};

const TONES: Record<SubscriptionStatus, string> = {
  pending: "wait",
  active: "good",
  inactive: "",
  disabled: "wait",
  cancelled: "",
  failed: "bad",
};

/** The state as a coloured label. */
export const SubscriptionStatusLabel: FC<{ view: View; status: SubscriptionStatus }> = (
  { view, status },
) => <span class={`status ${TONES[status]}`}>{view.words.subscriptionsPage.statuses[status]}</span>;
