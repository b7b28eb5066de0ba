/**
 * `/console/reconciliations/{id}/take-over/`: takes over one transaction that is missing here
 * (`?difference=`), or all of them.
 */

import type { FC } from "hono/jsx";
import { requireStaff } from "../../core/auth/caller.ts";
import {
  type DifferenceView,
  readDifference,
  readReconciliation,
} from "../../core/reports/reconciliations.ts";
import { takeOverDifference, takeOverMissing } from "../../core/reports/take_over.ts";
import { parseDifferenceId, parsePathId } from "../../http/paths.ts";
import type { ConsoleBase, Form } from "../shared/base.tsx";
import { ConfirmPage, newForm, problemOf } from "../shared/confirm.tsx";
import { explain } from "../shared/explain.ts";
import { rupiah } from "../shared/format.ts";
import type { SignedInView } from "../shared/session.ts";
import type { Service } from "../../core/service.ts";
import { nameOfOrder } from "./differences.tsx";

const PATH = "/reconciliations/";

export function addTakeOver(base: ConsoleBase): void {
  const { service, root, router, signedIn, actorForm, page } = base;

  router.get(`${PATH}:id/take-over/`, async (c) => {
    const view = await signedIn(c);
    requireStaff(view.session.caller);
    const id = parsePathId(c.req.param("id"));
    const number = numberOf({ difference: c.req.query("difference") ?? "" });
    const difference = await readChosen(service, view, id, number);
    return page(c, <TakeOverPage {...{ view, id, difference, error: null }} />);
  });

  // Like the routes of the API, this form needs no Idempotency-Key: taken over twice is once.
  router.post(`${PATH}:id/take-over/`, async (c) => {
    const { view, sent } = await actorForm(c);
    const { caller } = view.session;
    requireStaff(caller);
    const id = parsePathId(c.req.param("id"));
    const number = numberOf(sent);
    try {
      if (number === null) {
        await takeOverMissing(service, caller, id);
        return c.redirect(`${root}${PATH}${id}/?done=taking_over`, 303);
      }
      const { isChanged } = await takeOverDifference(service, caller, id, number);
      c.env.isAuditExempt = !isChanged;
      const done = isChanged ? "taken_over" : "unchanged";
      return c.redirect(`${root}${PATH}${id}/?done=${done}&difference=${number}`, 303);
    } catch (thrown) {
      const error = explain(view, problemOf(c, thrown));
      const difference = await readChosen(service, view, id, number);
      return page(c, <TakeOverPage {...{ view, id, difference, error }} />, 400);
    }
  });
}

/** Null: all differences. */
function numberOf({ difference = "" }: Form): number | null {
  return difference === "" ? null : parseDifferenceId(String(difference));
}

/** Throws a 404 if there is no such reconciliation or difference. */
async function readChosen(
  service: Service,
  { session: { caller } }: SignedInView,
  id: string,
  number: number | null,
): Promise<DifferenceView | null> {
  if (number !== null) return await readDifference(service, caller, id, number);
  await readReconciliation(service, caller, id);
  return null;
}

interface TakeOverProps {
  view: SignedInView;
  id: string;
  /** Null: all that are missing here. */
  difference: DifferenceView | null;
  error: string | null;
}

const TakeOverPage: FC<TakeOverProps> = ({ view, id, difference, error }) => {
  const { words } = view;
  const texts = words.reconciliationPage;
  return (
    <ConfirmPage
      view={view}
      title={difference ? texts.takeOver : texts.takeOverAll}
      path={`${PATH}${id}/take-over/`}
      back={`${PATH}${id}/?result=missing_here`}
      error={error}
      facts={difference
        ? {
          [texts.line]: difference.line,
          [words.order]: nameOfOrder(difference),
          [texts.kind]: texts.kinds[difference.kind],
          [texts.inFile]: difference.amount && rupiah(difference.amount),
        }
        : {}}
      effects={difference ? texts.takeOverEffects : texts.takeOverAllEffects}
      form={newForm("")}
      isDangerous={false}
    >
      <input type="hidden" name="difference" value={difference ? String(difference.id) : ""} />
    </ConfirmPage>
  );
};
