/** What the verbs of payments work with. */

import type { RecordDeps } from "../records/deps.ts";

export type PaymentDeps = RecordDeps;
