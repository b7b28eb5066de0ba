/** Opens a world: reads what was kept, and sees to what happens by itself. */

import { DUE, type Due, happenIfDue, type RecordOf } from "./due.ts";
import { type Journal, openJournal, unusable } from "./engine/journal.ts";
import { createRandom, type RandomState, seededState } from "./engine/random.ts";
import { createSchedule, type Schedule } from "./engine/schedule.ts";
import { openTable, type Stored } from "./engine/table.ts";
import { createClock } from "./engine/time.ts";
import { createFaults } from "./faults/faults.ts";
import { createNotifier } from "./webhooks/notifier.ts";
import type { Transaction } from "./world/transaction.ts";
import type { OpenWorld, Settings, World } from "./world/world.ts";

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
  const { path } = options;
  if (path === null) return await readWorld(options, null, () => {});
  let save = () => {};
  const journal = await openJournal(path, () => save());
  try {
    return await readWorld(options, journal, (how) => save = how);
  } catch (error) {
    await journal.close();
    throw unusable(path, error);
  }
}

/** `onSave` is told how to write what a world is besides its records. */
async function readWorld(
  options: WorldOptions,
  journal: Journal | null,
  onSave: (save: () => void) => void,
): Promise<OpenWorld> {
  const constitutions = await openTable<Constitution>("constitution", journal);
  const known = constitutions.get(ID);
  const clock = createClock({ ahead: known?.ahead, speed: options.speed });
  const seed = options.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]!;
  const random = createRandom(known?.random ?? seededState(seed));
  const merchantId = known?.merchantId ?? `G${random.digits(9)}`;
  // What was said at the start counts for more than what was kept.
  const settings = { ...NO_SETTINGS, ...known?.settings, ...options.settings };
  const remember = () => {
    const ahead = clock.now() - Date.now();
    constitutions.put({ id: ID, random: random.state(), merchantId, ahead, settings });
  };
  onSave(remember);

  const committed = () => journal?.committed() ?? Promise.resolve();
  const schedule = createSchedule(clock, lookWithCare, () => world.notifier.idle());
  const withoutVoice = {
    merchant: { id: merchantId, serverKey: options.serverKey, clientKey: options.clientKey },
    publicUrl: options.publicUrl,
    settings,
    clock,
    random,
    schedule,
    faults: createFaults(random),
    ...await openTables(schedule, journal, options.onChange),
    checkpoint: () => journal?.checkpoint(),
    committed,
  };
  const notifier = createNotifier(withoutVoice, options.onMistake);
  const hush = async () => {
    schedule.close();
    await notifier.close();
  };
  const world: OpenWorld = {
    ...withoutVoice,
    notifier,
    remember,
    hush,
    async close() {
      await hush();
      await journal?.close();
    },
  };

  /** One thing that goes wrong must not keep all others from happening. */
  async function lookWithCare(key: string): Promise<void> {
    const [table, ...id] = key.split("/") as [keyof typeof DUE, ...string[]];
    try {
      const { told } = notifier.during(() => happenIfDue(world, table, id.join("/")));
      // Whoever waits for the disk asks for itself, and hears what is wrong with it.
      committed().catch(() => {});
      await told;
    } catch (error) {
      options.onMistake(error);
    }
  }

  schedule.start();
  return world;
}

type Tables = Pick<
  World,
  | "transactions"
  | "orders"
  | "payNumbers"
  | "cards"
  | "answers"
  | "accounts"
  | "subscriptions"
  | "invoices"
  | "webhooks"
>;

async function openTables(
  schedule: Schedule,
  journal: Journal | null,
  onChange: () => void,
): Promise<Tables> {
  const orders: World["orders"] = new Map();
  const payNumbers: World["payNumbers"] = new Set();

  function index({ orderId, id, number, status, details }: Transaction) {
    const latest = orders.get(orderId);
    if (!latest || latest.number <= number) orders.set(orderId, { id, number });
    const payNumber = details.number as string | undefined;
    if (payNumber && status === "pending") payNumbers.add(payNumber);
    else if (payNumber) payNumbers.delete(payNumber);
  }

  function open<K extends keyof typeof DUE>(name: K, index?: (record: RecordOf<K>) => void) {
    return openTable<RecordOf<K>>(name, journal, (record) => {
      index?.(record);
      const at = (DUE[name] as Due<RecordOf<K>>).at(record);
      // Webhooks are owed for what happened before, so that their retries are part of any jump.
      if (at !== null) schedule.add(at, `${name}/${record.id}`, name === "webhooks");
      onChange();
    });
  }

  return {
    orders,
    payNumbers,
    transactions: await open("transactions", index),
    cards: await open("cards"),
    answers: await open("answers"),
    accounts: await open("accounts"),
    subscriptions: await open("subscriptions"),
    invoices: await open("invoices"),
    webhooks: await open("webhooks"),
  };
}
