/**
 * Sends mail about events: to staff, what needs attention; to customers, receipts. As handlers of
 * events, mails are sent by jobs, with their retries, and delay no request.
 */

import type { MailConfig } from "../config/config.ts";
import type { Events } from "../handlers/events.ts";
import { MAIL_LIMIT_MS, type Mailer, MailError } from "../posting/mailer.ts";
import type { Service } from "../service.ts";
import { attentionMail } from "./attention_mail.ts";
import { receiptOf } from "./receipts.ts";

/** Deliveries are stored under these names: do not change them. */
const NAMES = { attention: "mail-attention", receipts: "mail-receipts" };

/** Call it before the service starts. */
export function addMailHandlers(
  events: Events,
  service: Pick<Service, "database" | "merchant" | "log">,
  { attentionTo, hasReceipts }: MailConfig,
  mailer: Mailer,
): void {
  if (attentionTo.length > 0) {
    events.on(
      ["attention_raised", "attention_cleared"],
      async (event) => {
        const { refused } = await mailer.send(attentionMail(event, attentionTo));
        // The others have the mail, so it is not sent again.
        if (refused > 0) service.log.info("attention_mail_refused", { receivers: refused });
      },
      { as: NAMES.attention, limitMs: MAIL_LIMIT_MS },
    );
  }
  if (hasReceipts) {
    events.on(["payment_settled", "payment_refunded"], async (event) => {
      const mail = await receiptOf(service, event);
      if (!mail) return;
      try {
        await mailer.send(mail);
      } catch (error) {
        if (!(error instanceof MailError && error.isRefusedAddress)) throw error;
        // The customer's address is wrong. A retry, or staff, cannot change that.
        service.log.info("receipt_refused", { payment_id: event.data.id, error: error.message });
      }
    }, { as: NAMES.receipts, limitMs: MAIL_LIMIT_MS });
  }
}
