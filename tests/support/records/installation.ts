/**
 * The real service, to be killed while it makes and changes invoices and subscriptions. As the other
 * installation, but for two things: the gateway's own keys go through, for creating these relies on
 * them (within their minutes); and what happens in the background is theirs.
 */

import assert from "node:assert/strict";
import { checkOverdueInvoices } from "../../../core/invoices/check_overdue_invoices.ts";
import { syncSubscriptionStatus } from "../../../core/subscriptions/sync_subscription_status.ts";
import { type Installation, openInstallation, SERVER_KEY } from "../installation.ts";
import type { Json } from "../gateway/sandbox.ts";

export interface RecordInstallation extends Omit<Installation, "sync"> {
  /** One round of what happens in the background, as if so much time had passed. */
  sync(aheadMs: number): Promise<void>;
  /** What the gateway tells by itself arrives; how much that was. */
  tellAll(): Promise<number>;
  /** How the gateway has it. */
  there(path: string): Promise<Json>;
}

export async function openRecordInstallation(): Promise<RecordInstallation> {
  let aheadMs = 0;
  const installation = await openInstallation({
    passesKeys: true,
    aheadMs: () => aheadMs,
    settings: {},
  });
  const { sandbox, database, beside } = installation;
  return {
    ...installation,
    async sync(ms) {
      aheadMs = ms;
      await installation.workOff(async (deps) => {
        await checkOverdueInvoices(deps);
        await syncSubscriptionStatus(deps);
      });
      const open = await database.query((sql) =>
        sql`select task, status, error from gateway.jobs where error is not null`
      );
      assert.deepEqual([...open], []);
    },
    async tellAll() {
      await sandbox.settled();
      const told = sandbox.hooks.splice(0);
      for (const { body } of told) {
        const response = await beside.request("/notification/", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        });
        assert.equal(response.status, 200, await response.text());
      }
      return told.length;
    },
    async there(path) {
      const authorization = { Authorization: `Basic ${btoa(`${SERVER_KEY}:`)}` };
      const { http, body } = await sandbox.call("GET", path, undefined, authorization);
      assert.equal(http, 200, `${path}: ${JSON.stringify(body)}`);
      return body;
    },
  };
}
