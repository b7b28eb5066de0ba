/** The endpoint in a path. */

import { pathId } from "../shared/paths.ts";

export const endpointId = pathId("The endpoint's `id`.");
