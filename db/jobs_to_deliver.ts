/** Jobs that bring events to those who listen, and are not over. */

import { DELIVER } from "./jobs.ts";

/** In the words of the index that holds them and nothing else. */
export const IS_UNDELIVERED =
  `jobs.status <> 'succeeded' and jobs.status <> 'failed' and starts_with(jobs.task, '${DELIVER}')`;
