/**
 * Loaded before the service starts (`--preload`). Raises its deadline for the database: on a busy
 * machine, a statement can take longer than the service waits.
 */

import { DEADLINE } from "../../db/connection/settings.ts";

DEADLINE.ms = 10_000;
