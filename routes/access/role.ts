/** The schema of a caller's role. */

import { z } from "@hono/zod-openapi";
import { ROLES } from "../../core/auth/caller.ts";

export const RoleSchema = z.enum(ROLES).openapi("Role", {
  description: [
    "- `user`: reads and changes its own resources",
    "- `viewer`: reads what staff can read, and changes nothing",
    "- `staff`: reads and changes the resources of all users",
  ].join("\n"),
  example: "user",
});
