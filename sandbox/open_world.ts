/** Opens a world (the state of a sandbox): reads the stored records and starts the schedule. */

import { RECORD_RULES, type RecordOf, type RecordRules, runIfDue } from "./record_rules.ts";
import { createRandom, type RandomState, seededState } from "./engine/random.ts";
import { createSchedule, type Schedule } from "./engine/schedule.ts";
import { openStore, stateFileError, type Store, type Stored } from "./engine/store.ts";
import { createClock } from "./engine/time.ts";
import { createFaults } from "./faults/faults.ts";
import { createNotifier } from "./webhooks/notifier.ts";
import type { OpenWorld, Settings } from "./world/world.ts";

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
  /**
   * How many final records of each kind are kept; with a state file, the limit applies to webhooks
   * only. Default: 20,000 with a file, 10,000 without.
   */
  maxFinal?: number;
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

const DEFAULT_SETTINGS: Settings = {
  notification_url: null,
  recurring_notification_url: null,
  pay_account_notification_url: null,
  reuse_order_id_after_deny: true,
  denied_review_status: "cancel",
  metadata_in_status: false,
  dana_order_id: true,
  inactive_payment_types: [],
  snap_cancel: "works",
  snap_reuse_order_id_after_deny: false,
  snap_min_expiry_seconds: 20,
  snap_finish_url_for_cards: true,
  preferences: {
    finish_payment_return_url: null,
    error_payment_return_url: null,
    locale: "id",
    allow_retry: true,
    hide_order_id: false,
    other_va_processor: "bni_va",
    disabled_channels: [],
  },
};

export function openWorld(options: WorldOptions): OpenWorld {
  const { path } = options;
  let store: Store | undefined;
  try {
    store = openStore(path, options.onError);
    return readWorld(options, store);
  } catch (error) {
    store?.close();
    throw path === null ? error : stateFileError(path, error);
  }
}

function readWorld(options: WorldOptions, store: Store): OpenWorld {
  const worldStates = store.table<WorldState>("world");
  const known = worldStates.get(ID);
  // Behind only if the process ended while the past was replayed (`Sandbox.replay`).
  const ahead = Math.max(0, known?.ahead ?? 0);
  const clock = createClock({ ahead, speed: options.speed });
  const seed = options.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]!;
  const random = createRandom(known?.random ?? seededState(seed));
  const merchantId = known?.merchantId ?? `G${random.digits(9)}`;
  // Options given at startup override stored settings.
  const settings = { ...DEFAULT_SETTINGS, ...known?.settings, ...options.settings };
  const saveState = () => {
    const ahead = clock.now() - Date.now();
    worldStates.put({ id: ID, random: random.state(), merchantId, ahead, settings });
  };
  // Every commit also stores the random state, so that no id repeats after a restart.
  store.beforeCommit = saveState;

  const schedule = createSchedule(clock, runDueAction, () => world.notifier.idle());
  const { tables, resumeTables } = openTables(options, store, schedule);
  const baseWorld = {
    merchant: { id: merchantId, serverKey: options.serverKey, clientKey: options.clientKey },
    publicUrl: options.publicUrl,
    service: null,
    settings,
    clock,
    random,
    schedule,
    faults: createFaults(random),
    ...tables,
    committed: store.committed,
    saveState,
  };
  const notifier = createNotifier(baseWorld, options.onError);
  /** Schedules what the store says: at the start, and after a rollback undid changes. */
  const resume = () => {
    resumeTables();
    notifier.resume();
  };
  store.onRecovery = resume;
  const stopNotifications = async () => {
    schedule.close();
    await notifier.close();
  };
  const world: OpenWorld = {
    ...baseWorld,
    notifier,
    stopNotifications,
    async close() {
      await stopNotifications();
      store.close();
    },
  };

  /** Reports an error instead of throwing it: one failing action must not stop the schedule. */
  async function runDueAction(key: string): Promise<void> {
    const [table, ...id] = key.split("/") as [keyof typeof RECORD_RULES, ...string[]];
    try {
      const { delivered } = notifier.trackDeliveries(() => runIfDue(world, table, id.join("/")));
      await delivered;
    } catch (error) {
      options.onError(error);
    }
  }

  resume();
  schedule.start();
  return world;
}

function openTables(options: WorldOptions, store: Store, schedule: Schedule) {
  const resumers: (() => void)[] = [];
  function open<K extends keyof typeof RECORD_RULES>(name: K) {
    const { table, resume } = openTable(options, store, schedule, name);
    resumers.push(resume);
    return table;
  }
  const tables = {
    transactions: open("transactions"),
    cards: open("cards"),
    answers: open("answers"),
    accounts: open("accounts"),
    subscriptions: open("subscriptions"),
    invoices: open("invoices"),
    snapPages: open("snapPages"),
    webhooks: open("webhooks"),
  };
  return { tables, resumeTables: () => resumers.forEach((resume) => resume()) };
}

/** A busy sandbox creates several webhooks for each transaction, so a state file limits them. */
const MAX_FINAL = { webhooksInFile: 20_000, inMemory: 10_000 };
/** Key of the records for which an action is scheduled. */
const SCHEDULED = "scheduled";

function openTable<K extends keyof typeof RECORD_RULES>(
  { path, maxFinal, onChange }: WorldOptions,
  store: Store,
  schedule: Schedule,
  name: K,
) {
  const { at, isFinal, keysOf } = RECORD_RULES[name] as RecordRules<RecordOf<K>>;
  const isLimited = path === null || name === "webhooks";
  const max = maxFinal ?? (path === null ? MAX_FINAL.inMemory : MAX_FINAL.webhooksInFile);
  // A webhook retry belongs to an event that already happened. So a clock jump also runs retries
  // that are added during the jump.
  const setSchedule = (record: RecordOf<K>) =>
    schedule.set(`${name}/${record.id}`, at(record), name === "webhooks");
  const table = store.table<RecordOf<K>>(name, {
    keysOf: (record) => [...keysOf?.(record) ?? [], ...at(record) === null ? [] : [SCHEDULED]],
    ...isFinal && isLimited && { final: { isFinal, max } },
    onPut(record) {
      setSchedule(record);
      onChange();
    },
  });
  // Oldest first: actions that are due at the same time run in the order of creation.
  const resume = () => [...table.find(SCHEDULED)].reverse().forEach(setSchedule);
  return { table, resume };
}
