/** Everything the sandbox consists of, handed to each of its operations. */

import type { PayAccount } from "../accounts/account.ts";
import type { Card } from "../cards/card.ts";
import type { KeptAnswer } from "./kept_answer.ts";
import type { Invoice } from "../invoices/invoice.ts";
import type { Subscription } from "../subscriptions/subscription.ts";
import type { Transaction } from "../transactions/transaction.ts";
import type { Notifier, Webhook } from "../webhooks/webhook.ts";
import type { Clock } from "./clock.ts";
import type { Faults } from "./faults.ts";
import type { Random } from "./random.ts";
import type { Schedule } from "./schedule.ts";
import type { Settings } from "./settings.ts";
import type { Table } from "./table.ts";

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
