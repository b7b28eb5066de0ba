/** Opens a world (the state of a sandbox): reads the stored records and starts the schedule. */

import { RECORD_RULES, type RecordOf, type RecordRules, runIfDue } from "./record_rules.ts";
import { type Archive, openArchive } from "./engine/archive.ts";
import { type Journal, openJournal, unusableJournal } from "./engine/journal.ts";
import { createRandom, type RandomState, seededState } from "./engine/random.ts";
import { createSchedule, type Schedule } from "./engine/schedule.ts";
import { openTable, type Stored } from "./engine/table.ts";
import { createClock } from "./engine/time.ts";
import { createFaults } from "./faults/faults.ts";
import { createNotifier } from "./webhooks/notifier.ts";
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
  /**
   * How many final records of each kind stay in memory. With a state file, the others are read from
   * its archive; without a state file, they are deleted. Default: 1,000 with a file, 10,000
   * without.
   */
  finalInMemory?: number;
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
  dana_order_id: true,
};

export async function openWorld(options: WorldOptions): Promise<OpenWorld> {
  const { path } = options;
  if (path === null) return await readWorld(options, null, null);
  const journal = await openJournal(path);
  const archive = await openArchiveOf(path, journal);
  try {
    return await readWorld(options, journal, archive);
  } catch (error) {
    archive.close();
    await journal.close();
    throw unusableJournal(path, error);
  }
}

async function openArchiveOf(path: string, journal: Journal): Promise<Archive> {
  const archivePath = `${path}.archive`;
  try {
    return openArchive(archivePath);
  } catch (error) {
    await journal.close();
    throw unusableJournal(archivePath, error);
  }
}

async function readWorld(
  options: WorldOptions,
  journal: Journal | null,
  archive: Archive | null,
): Promise<OpenWorld> {
  const worldStates = await openTable<WorldState>(TABLE, { journal });
  const known = worldStates.get(ID);
  // There is no stored state: the file is new, or the user deleted it to start fresh.
  if (!known) archive?.clear();
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
  // Every commit also stores the random state, so that no id repeats after a restart.
  if (journal) journal.beforeCommit = saveState;

  const committed = () => {
    const commit = journal?.committed() ?? Promise.resolve();
    for (const table of Object.values(tables)) table.trim(commit).catch(options.onError);
    return commit;
  };
  const schedule = createSchedule(clock, runDueAction, () => world.notifier.idle());
  const { payNumbers, ...tables } = await openTables(options, schedule, journal, archive);
  for (const table of Object.values(tables)) await table.trim(Promise.resolve());
  const baseWorld = {
    merchant: { id: merchantId, serverKey: options.serverKey, clientKey: options.clientKey },
    publicUrl: options.publicUrl,
    service: null,
    settings,
    clock,
    random,
    schedule,
    faults: createFaults(random),
    payNumbers,
    ...tables,
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
    sizeInMemory() {
      const sizes = Object.values(tables).map(({ sizeInMemory }) => sizeInMemory);
      return { records: sizes.reduce((sum, size) => sum + size, 0), scheduled: schedule.size };
    },
    async close() {
      await stopNotifications();
      // A failed commit must not leave the archive open.
      await (journal?.close() ?? Promise.resolve()).finally(() => archive?.close());
    },
  };

  /** Reports an error instead of throwing it: one failing action must not stop the schedule. */
  async function runDueAction(key: string): Promise<void> {
    const [table, ...id] = key.split("/") as [keyof typeof RECORD_RULES, ...string[]];
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
  | "payNumbers"
  | "cards"
  | "answers"
  | "accounts"
  | "subscriptions"
  | "invoices"
  | "webhooks"
>;

/**
 * Maximum number of final webhooks in memory and archive: a busy sandbox creates several for each
 * transaction.
 */
const MAX_WEBHOOKS = 20_000;
const FINAL_IN_MEMORY = { withArchive: 1_000, alone: 10_000 };

async function openTables(
  options: WorldOptions,
  schedule: Schedule,
  journal: Journal | null,
  archive: Archive | null,
): Promise<Tables> {
  const payNumbers: World["payNumbers"] = new Set();
  const maxInMemory = options.finalInMemory ??
    (archive ? FINAL_IN_MEMORY.withArchive : FINAL_IN_MEMORY.alone);

  function open<K extends keyof typeof RECORD_RULES>(
    name: K,
    onPut: (record: RecordOf<K>) => void = () => {},
  ) {
    const { at, isFinal, keysOf } = RECORD_RULES[name] as RecordRules<RecordOf<K>>;
    const max = name === "webhooks" ? MAX_WEBHOOKS : archive ? Infinity : maxInMemory;
    return openTable<RecordOf<K>>(name, {
      journal,
      archive: isFinal ? archive : null,
      keysOf,
      ...isFinal && { final: { isFinal, maxInMemory, max } },
      onPut(record) {
        onPut(record);
        // A webhook retry belongs to an event that already happened. So a clock jump also runs
        // retries that are added during the jump.
        schedule.set(`${name}/${record.id}`, at(record), name === "webhooks");
        options.onChange();
      },
    });
  }

  return {
    payNumbers,
    transactions: await open("transactions", ({ status, details }) => {
      const payNumber = details.number as string | undefined;
      if (payNumber && status === "pending") payNumbers.add(payNumber);
      else if (payNumber) payNumbers.delete(payNumber);
    }),
    cards: await open("cards"),
    answers: await open("answers"),
    accounts: await open("accounts"),
    subscriptions: await open("subscriptions"),
    invoices: await open("invoices"),
    webhooks: await open("webhooks"),
  };
}
