/** Opens a world (the state of a sandbox): reads the stored records and starts the schedule. */

import { DUE_ACTIONS, type DueAction, type RecordOf, runIfDue } from "./due_actions.ts";
import { type Journal, openJournal, unusableJournal } from "./engine/journal.ts";
import { createRandom, type RandomState, seededState } from "./engine/random.ts";
import { createSchedule, type Schedule } from "./engine/schedule.ts";
import { openTable, type Stored } from "./engine/table.ts";
import { createClock } from "./engine/time.ts";
import { createFaults } from "./faults/faults.ts";
import { createNotifier } from "./webhooks/notifier.ts";
import type { Transaction } from "./world/transaction.ts";
import type { OpenWorld, Settings, World } from "./world/world.ts";

export interface WorldOptions {
  /** State file; null keeps the state in memory only. */
  path: string | null;
  /** Makes ids, numbers and delays repeatable. Default: a random seed. */
  seed?: number;
  /** Sandbox seconds per real second. */
  speed?: number;
  serverKey: string;
  clientKey: string;
  settings?: Partial<Settings>;
  publicUrl: () => string;
  /** Called after every change of a record. */
  onChange: () => void;
  /** Called with errors of scheduled actions and deliveries. */
  onError: (error: unknown) => void;
}

/** The part of a world that is not a table of records. */
interface WorldState extends Stored {
  random: RandomState;
  merchantId: string;
  /** Milliseconds that the sandbox clock is ahead of the real clock. */
  ahead: number;
  settings: Settings;
}

const ID = "world";
/** Existing state files use this name. */
const TABLE = "constitution";

const DEFAULT_SETTINGS: Settings = {
  notification_url: null,
  recurring_notification_url: null,
  pay_account_notification_url: null,
  reuse_order_id_after_deny: true,
  denied_review_status: "cancel",
  metadata_in_status: false,
};

export async function openWorld(options: WorldOptions): Promise<OpenWorld> {
  const { path } = options;
  if (path === null) return await readWorld(options, null);
  const journal = await openJournal(path);
  try {
    return await readWorld(options, journal);
  } catch (error) {
    await journal.close();
    throw unusableJournal(path, error);
  }
}

async function readWorld(options: WorldOptions, journal: Journal | null): Promise<OpenWorld> {
  const worldStates = await openTable<WorldState>(TABLE, journal);
  const known = worldStates.get(ID);
  const clock = createClock({ ahead: known?.ahead, speed: options.speed });
  const seed = options.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]!;
  const random = createRandom(known?.random ?? seededState(seed));
  const merchantId = known?.merchantId ?? `G${random.digits(9)}`;
  // Options given at startup override stored settings.
  const settings = { ...DEFAULT_SETTINGS, ...known?.settings, ...options.settings };
  const saveState = () => {
    const ahead = clock.now() - Date.now();
    worldStates.put({ id: ID, random: random.state(), merchantId, ahead, settings });
  };
  // Every commit contains the random state that its ids came from, so that no id repeats.
  if (journal) journal.beforeCommit = saveState;

  const committed = () => journal?.committed() ?? Promise.resolve();
  const schedule = createSchedule(clock, runDueAction, () => world.notifier.idle());
  const baseWorld = {
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
  const notifier = createNotifier(baseWorld, options.onError);
  const stopNotifications = async () => {
    schedule.close();
    await notifier.close();
  };
  const world: OpenWorld = {
    ...baseWorld,
    notifier,
    saveState,
    stopNotifications,
    async close() {
      await stopNotifications();
      await journal?.close();
    },
  };

  /** Reports an error instead of throwing it: one failing action must not stop the schedule. */
  async function runDueAction(key: string): Promise<void> {
    const [table, ...id] = key.split("/") as [keyof typeof DUE_ACTIONS, ...string[]];
    try {
      const { delivered } = notifier.trackDeliveries(() => runIfDue(world, table, id.join("/")));
      // Callers that need the commit await it themselves and receive its error.
      committed().catch(() => {});
      await delivered;
    } catch (error) {
      options.onError(error);
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

  function open<K extends keyof typeof DUE_ACTIONS>(
    name: K,
    index?: (record: RecordOf<K>) => void,
  ) {
    return openTable<RecordOf<K>>(name, journal, (record) => {
      index?.(record);
      const at = (DUE_ACTIONS[name] as DueAction<RecordOf<K>>).at(record);
      // A webhook retry belongs to an event that already happened. So a clock jump also runs retries
      // that are added during the jump.
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
