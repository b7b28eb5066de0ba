/**
 * A service process that a test kills while it creates and changes invoices and subscriptions.
 * Unlike the installation for payments, it forwards idempotency keys to the gateway, because
 * creating these records relies on them, and `sync` checks these records.
 */

import assert from "node:assert/strict";
import { checkOverdueInvoices } from "../../../core/invoices/check_overdue_invoices.ts";
import { syncSubscriptionStatus } from "../../../core/subscriptions/sync_subscription_status.ts";
import type { Json } from "../gateway/sandbox.ts";
import { type Installation, openInstallation, SERVER_KEY } from "./installation.ts";

export interface RecordInstallation extends Omit<Installation, "sync"> {
  /** Runs the background checks in the other instance with its clock ahead by this much. */
  sync(aheadMs: number): Promise<void>;
  /** Delivers the notifications that the gateway has sent so far; returns how many. */
  deliverNotifications(): Promise<number>;
  /** Reads a record at the gateway. */
  readAtGateway(path: string): Promise<Json>;
}

export async function openRecordInstallation(): Promise<RecordInstallation> {
  let aheadMs = 0;
  const installation = await openInstallation({
    forwardsKeys: true,
    aheadMs: () => aheadMs,
    settings: {},
  });
  const { sandbox, database, otherInstance } = installation;
  return {
    ...installation,
    async sync(ms) {
      aheadMs = ms;
      await installation.runJobs(async (service) => {
        await checkOverdueInvoices(service);
        await syncSubscriptionStatus(service);
      });
      const failed = await database.query((sql) =>
        sql`select task, status, error from gateway.jobs where error is not null`
      );
      assert.deepEqual([...failed], []);
    },
    async deliverNotifications() {
      await sandbox.waitForWebhooks();
      const notifications = sandbox.hooks.splice(0);
      for (const { body } of notifications) {
        const response = await otherInstance.request("/notification/", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        });
        assert.equal(response.status, 200, await response.text());
      }
      return notifications.length;
    },
    async readAtGateway(path) {
      const authorization = { Authorization: `Basic ${btoa(`${SERVER_KEY}:`)}` };
      const { http, body } = await sandbox.call("GET", path, undefined, authorization);
      assert.equal(http, 200, `${path}: ${JSON.stringify(body)}`);
      return body;
    },
  };
}
