/** What only staff may do. */

import { ServiceError } from "../errors.ts";
import type { Caller } from "./caller.ts";

export function requireStaff({ isStaff }: Caller): void {
  if (!isStaff) throw new ServiceError("forbidden");
}
