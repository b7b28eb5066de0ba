/** Everything the sandbox consists of, handed to each of its operations. */

import type { Card, Invoice, KeptAnswer, PayAccount, Subscription } from "./records.ts";
import type { Transaction } from "./transaction.ts";
import type { Notifier, Webhook } from "./webhook.ts";
import type { Clock } from "../engine/time.ts";
import type { Faults } from "../faults/faults.ts";
import type { Random } from "../engine/random.ts";
import type { Schedule } from "../engine/schedule.ts";
import type { Table } from "../engine/table.ts";

export interface World {
  merchant: Merchant;
  /** Where a browser finds this sandbox; links in answers begin with it. */
  publicUrl(): string;
  settings: Settings;
  clock: Clock;
  random: Random;
  schedule: Schedule;
  faults: Faults;
  notifier: Notifier;
  transactions: Table<Transaction>;
  /** The latest transaction of each order. */
  orders: Map<string, { id: string; number: number }>;
  /** Numbers a customer can pay to (virtual accounts, bill keys, payment codes), while one can. */
  payNumbers: Set<string>;
  cards: Table<Card>;
  /** Answers that come again under the same idempotency key. */
  answers: Table<KeptAnswer>;
  accounts: Table<PayAccount>;
  subscriptions: Table<Subscription>;
  invoices: Table<Invoice>;
  webhooks: Table<Webhook>;
  /** What happened so far is whole: it may be on disk without what follows. */
  checkpoint(): void;
  /** Comes true when all that happened so far is on disk. */
  committed(): Promise<void>;
}

/** One that can be asked to remember, and to end. */
export interface OpenWorld extends World {
  /** Sees to it that settings and clock are kept as they are now. */
  remember(): void;
  /** Tells the merchant nothing more; what is under way is sent again after the next start. */
  hush(): Promise<void>;
  close(): Promise<void>;
}

/** Who the gateway is to others: all that is needed to describe something. */
export type Identity = Pick<World, "merchant" | "publicUrl">;

export interface Merchant {
  id: string;
  serverKey: string;
  clientKey: string;
}

export interface Settings {
  /** Where webhooks go; null: nowhere, unless a charge names its own address. */
  notification_url: string | null;
  recurring_notification_url: string | null;
  pay_account_notification_url: string | null;
  /** Whether an order id is free again after its transaction was denied (G§3.15). */
  reuse_order_id_after_deny: boolean;
}
