/** Starts a service process as a supervisor does. */

import { type ServiceProcess, type StartOptions, startService } from "../service.ts";

const MAX_STARTS = 10;

/**
 * Starts the service again if the database did not respond in time: on a busy machine, a statement
 * of the start can take longer than the service waits.
 */
export async function startUntilUp(
  settings: Record<string, string>,
  options: Omit<StartOptions, "settings"> = {},
): Promise<ServiceProcess> {
  for (let starts = 1;; starts++) {
    try {
      return await startService({ settings, ...options });
    } catch (error) {
      if (starts === MAX_STARTS || !String(error).includes("DatabaseUnavailable")) throw error;
    }
  }
}
