/** `replayNotification`: asks the gateway anew about what a notification told. */

import type { Caller } from "../auth/caller.ts";
import { GatewayError } from "../gateway/errors.ts";
import { lookProblem } from "../records/problems.ts";
import { confirmNotification } from "./confirm.ts";
import type { NotificationDeps } from "./deps.ts";
import { findForStaff } from "./read.ts";
import { type NotificationView, viewNotification } from "./views.ts";

export async function replayNotification(
  deps: NotificationDeps,
  caller: Caller,
  id: string,
): Promise<NotificationView> {
  const notification = await findForStaff(deps, caller, id);
  try {
    return viewNotification(await confirmNotification(deps, notification));
  } catch (error) {
    throw error instanceof GatewayError ? lookProblem(error) : error;
  }
}
