/** How long a bank holds an amount that was authorized and not captured yet (G§11). */

import { DAY } from "../world/time.ts";

export const HOLD = 8 * DAY;
