/** Opens a world: reads what was kept, and sees to what happens by itself. */

import type { PayAccount } from "../accounts/account.ts";
import { expireAccount } from "../accounts/accounts.ts";
import type { Card } from "../cards/card.ts";
import type { Faults } from "../http/faults.ts";
import type { Invoice } from "../invoices/invoice.ts";
import { becomeOverdue } from "../invoices/invoices.ts";
import { cycleDueAt, runCycle } from "../subscriptions/cycle.ts";
import type { Subscription } from "../subscriptions/subscription.ts";
import { dueAt, happen } from "../transactions/due.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { createNotifier, type LiveNotifier } from "../webhooks/notifier.ts";
import type { Webhook } from "../webhooks/webhook.ts";
import { createClock } from "./clock.ts";
import { type Journal, openJournal } from "./journal.ts";
import { createRandom, type RandomState, seededState } from "./random.ts";
import { createSchedule } from "./schedule.ts";
import type { Settings } from "./settings.ts";
import { openTable, type Stored, type Table } from "./table.ts";
import type { World } from "./world.ts";

export interface WorldOptions {
  /** The file it is kept in; null: in memory only. */
  path: string | null;
  /** Fixes all chance; without it every sandbox is different. */
  seed?: number;
  /** Seconds that pass in the sandbox in one of the world's. */
  speed?: number;
  serverKey: string;
  clientKey: string;
  settings?: Partial<Settings>;
  publicUrl: () => string;
  /** Told after every change. */
  onChange: () => void;
  /** Told of mistakes in what happens by itself. */
  onMistake: (error: unknown) => void;
  createFaults: (world: Pick<World, "random">) => Faults;
}

export interface OpenWorld extends World {
  faults: Faults;
  /** Sees to it that settings and clock are kept as they are now. */
  remember(): void;
  /** Tells the merchant nothing more; what is under way is sent again after the next start. */
  hush(): Promise<void>;
  close(): Promise<void>;
}

/** What a world is besides its records. */
interface Constitution extends Stored {
  random: RandomState;
  merchantId: string;
  /** How far its clock is ahead of everybody's. */
  ahead: number;
  settings: Settings;
}

const ID = "world";

const NO_SETTINGS: Settings = {
  notification_url: null,
  recurring_notification_url: null,
  pay_account_notification_url: null,
  reuse_order_id_after_deny: true,
};

export async function openWorld(options: WorldOptions): Promise<OpenWorld> {
  let saveConstitution = () => {};
  const journal = options.path === null
    ? null
    : await openJournal(options.path, () => saveConstitution());
  const constitutions = await openTable<Constitution>("constitution", journal);
  const known = constitutions.get(ID);
  const clock = createClock({ ahead: known?.ahead, speed: options.speed });
  const seed = options.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]!;
  const random = createRandom(known?.random ?? seededState(seed));
  const merchantId = known?.merchantId ?? `G${random.digits(9)}`;
  // What was said at the start counts for more than what was kept.
  const settings = { ...NO_SETTINGS, ...known?.settings, ...options.settings };
  saveConstitution = () => {
    const ahead = clock.now() - Date.now();
    constitutions.put({ id: ID, random: random.state(), merchantId, ahead, settings });
  };

  const world = {
    merchant: { id: merchantId, serverKey: options.serverKey, clientKey: options.clientKey },
    publicUrl: options.publicUrl,
    settings,
    clock,
    random,
    orders: new Map<string, { id: string; number: number }>(),
    payNumbers: new Set<string>(),
  } as OpenWorld;
  world.schedule = createSchedule(clock, lookWithCare, async () => {
    await world.notifier.idle();
    await world.committed();
  });
  world.committed = () => journal?.committed() ?? Promise.resolve();
  await openTables(world, journal, options.onChange);
  world.faults = options.createFaults(world);
  const notifier: LiveNotifier = createNotifier(world, world.faults);
  world.notifier = notifier;
  world.remember = () => saveConstitution();
  world.hush = async () => {
    world.schedule.close();
    await notifier.close();
  };
  world.close = async () => {
    await world.hush();
    await journal?.close();
  };
  world.schedule.start();

  /** One thing that goes wrong must not keep all others from happening. */
  function lookWithCare(key: string) {
    try {
      look(key);
    } catch (error) {
      options.onMistake(error);
    }
  }

  /** What is due may have changed since it was written down: each looks for itself. */
  function look(key: string) {
    const [table, id] = key.split("/") as [string, string];
    const isDue = (at: number | null) => at !== null && at <= clock.now();
    if (table === "transactions") {
      const transaction = world.transactions.get(id);
      if (transaction && isDue(dueAt(transaction))) happen(world, transaction);
    } else if (table === "subscriptions") {
      const subscription = world.subscriptions.get(id);
      if (subscription && isDue(cycleDueAt(subscription))) runCycle(world, subscription);
    } else if (table === "invoices") {
      const invoice = world.invoices.get(id);
      if (invoice && isDue(overdueAt(invoice))) becomeOverdue(world, invoice);
    } else if (table === "accounts") {
      const account = world.accounts.get(id);
      if (account && isDue(linkEndsAt(account))) expireAccount(world, account);
    } else {
      const webhook = world.webhooks.get(id);
      if (webhook && isDue(webhook.nextAt)) notifier.retry(webhook);
    }
  }

  return world;
}

async function openTables(world: World, journal: Journal | null, onChange: () => void) {
  async function open<T extends Stored>(
    name: string,
    dueAt: (record: T) => number | null = () => null,
    index: (record: T) => void = () => {},
  ): Promise<Table<T>> {
    return await openTable<T>(name, journal, (record) => {
      index(record);
      const at = dueAt(record);
      if (at !== null) world.schedule.add(at, `${name}/${record.id}`);
      onChange();
    });
  }

  world.transactions = await open<Transaction>("transactions", dueAt, (transaction) => {
    const latest = world.orders.get(transaction.orderId);
    if (!latest || latest.number <= transaction.number) {
      world.orders.set(transaction.orderId, { id: transaction.id, number: transaction.number });
    }
    const number = transaction.details.number as string | undefined;
    if (!number) return;
    if (transaction.status === "pending") world.payNumbers.add(number);
    else world.payNumbers.delete(number);
  });
  world.cards = await open<Card>("cards");
  world.accounts = await open<PayAccount>("accounts", linkEndsAt);
  world.subscriptions = await open<Subscription>("subscriptions", cycleDueAt);
  world.invoices = await open<Invoice>("invoices", overdueAt);
  world.webhooks = await open<Webhook>("webhooks", ({ nextAt }) => nextAt);
}

function overdueAt({ status, dueAt }: Invoice): number | null {
  return status === "pending" ? dueAt : null;
}

function linkEndsAt({ status, expiresAt }: PayAccount): number | null {
  return status === "PENDING" ? expiresAt : null;
}
