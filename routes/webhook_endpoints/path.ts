/** The endpoint in a path. */

import { pathId } from "../path_id.ts";

export const endpointId = pathId("The endpoint's `id`.");
