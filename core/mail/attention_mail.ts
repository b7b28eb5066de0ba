/** `attentionMail`: the mail to staff about a cause that was raised or cleared. */

import type { EventOf } from "../handlers/events.ts";
import type { Mail } from "../posting/mailer.ts";

export function attentionMail(
  { id, name, data }: EventOf<"attention_raised" | "attention_cleared">,
  to: readonly string[],
): Mail {
  const isRaised = name === "attention_raised";
  const lines = isRaised
    ? [
      `${data.title}.`,
      "",
      `Affected: ${data.count}`,
      `Since: ${data.since}`,
      `What to do: ${data.next_step}`,
    ]
    : [`Resolved: ${data.title}.`, "", `Since: ${data.since}`, `Until: ${data.cleared_at}`];
  const ending = isRaised
    ? [
      "",
      "You get one mail when this starts and one when it ends, not one for each payment or job.",
    ]
    : [];
  return {
    to,
    subject: `[payments] ${isRaised ? "Needs attention" : "Resolved"}: ${data.title}`,
    text: [
      ...lines,
      ...data.console_url ? [`Console: ${data.console_url}`] : [],
      ...ending,
      "",
    ].join("\n"),
    id: `attention.${id}`,
  };
}
