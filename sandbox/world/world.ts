/** The state of the sandbox, which is passed to every operation. */

import type { Random } from "../engine/random.ts";
import type { Schedule } from "../engine/schedule.ts";
import type { Table } from "../engine/store.ts";
import type { Clock } from "../engine/time.ts";
import type { Faults } from "../faults/faults.ts";
import type {
  Card,
  Invoice,
  PayAccount,
  SnapLanguage,
  SnapPage,
  StoredResponse,
  Subscription,
} from "./records.ts";
import type { Transaction } from "./transaction.ts";
import type { Notifier, Webhook } from "./webhook.ts";

export interface World {
  merchant: Merchant;
  /** URL of this sandbox for browsers; links in responses start with it. */
  publicUrl(): string;
  /** The service that runs with this sandbox and uses it as its gateway; null if there is none. */
  service: ServiceAddress | null;
  settings: Settings;
  clock: Clock;
  random: Random;
  schedule: Schedule;
  faults: Faults;
  notifier: Notifier;
  transactions: Table<Transaction>;
  cards: Table<Card>;
  /** Responses stored by idempotency key. */
  answers: Table<StoredResponse>;
  accounts: Table<PayAccount>;
  subscriptions: Table<Subscription>;
  invoices: Table<Invoice>;
  snapPages: Table<SnapPage>;
  webhooks: Table<Webhook>;
  /** Resolves when all changes so far are in the state file; rejects if they were rolled back. */
  committed(): Promise<void>;
  /** Stores what is not in a table: settings, clock, merchant id and random state. */
  saveState(): void;
}

/** The world with the functions that only the server uses. */
export interface OpenWorld extends World {
  /** Stops deliveries; those in progress are repeated after the next start. */
  stopNotifications(): Promise<void>;
  close(): Promise<void>;
}

/** Where a merchant calls the service. */
export interface ServiceAddress {
  url: string;
  /** An API key of the service for development; null: the user has to fill it in. */
  key: string | null;
}

/** The part of the world that responses need. */
export type Identity = Pick<World, "merchant" | "publicUrl">;

export interface Merchant {
  id: string;
  serverKey: string;
  clientKey: string;
}

/** Settings that can change at runtime: webhook URLs, and variants of the gateway's behaviour. */
export interface Settings {
  /** Webhook URL; null: no webhooks are sent, unless a charge has its own URL. */
  notification_url: string | null;
  recurring_notification_url: string | null;
  pay_account_notification_url: string | null;
  /** Whether an order id can be used again after its transaction was denied. */
  reuse_order_id_after_deny: boolean;
  /** The status after a denied challenge: `cancel` in responses recorded in 2021, `deny` before. */
  denied_review_status: "cancel" | "deny";
  /** Whether status responses contain the merchant's metadata. Recorded responses do not. */
  metadata_in_status: boolean;
  /**
   * Whether responses about DANA transactions contain the merchant's order id, as documented. As
   * reported by merchants, status responses have the transaction id instead, refund responses only
   * that id, and others no id.
   */
  dana_order_id: boolean;
  /** Payment types that this account does not have; their charges are refused. */
  inactive_payment_types: string[];
  /** Whether the call that cancels a Snap page exists: the gateway's documents disagree. */
  snap_cancel: "works" | "missing";
  /**
   * Whether a Snap page can be created for an order id whose transactions were all denied. The
   * gateway's documents disagree; the strict reading is that it cannot.
   */
  snap_reuse_order_id_after_deny: boolean;
  /** The shortest expiry of a Snap page: the gateway's documents say 20 seconds and 5 minutes. */
  snap_min_expiry_seconds: number;
  /**
   * Whether the finish URL of a Snap page applies to cards: the gateway's documents disagree. If
   * not, cards return to the account's URL.
   */
  snap_finish_url_for_cards: boolean;
  /** What the merchant chose for the account's Snap pages. */
  preferences: Preferences;
}

export interface Preferences {
  /** Where the customer returns to after a payment, if the page has no URL of its own. */
  finish_payment_return_url: string | null;
  error_payment_return_url: string | null;
  locale: SnapLanguage;
  /** Whether the customer may try again after a denied card. */
  allow_retry: boolean;
  hide_order_id: boolean;
  other_va_processor: string;
  /** Methods that the merchant switched off. */
  disabled_channels: string[];
}
