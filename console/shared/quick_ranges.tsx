/** Links to the periods that staff look at most: days in Jakarta, and weeks from Monday. */

import type { FC } from "hono/jsx";
import type { DayRange } from "./days.ts";
import type { SignedInView } from "./session.ts";

export const QUICK_RANGES = ["today", "yesterday", "thisWeek", "lastMonth"] as const;

export function quickRange(name: (typeof QUICK_RANGES)[number], today: string): DayRange {
  const day = Temporal.PlainDate.from(today);
  const range = (from: Temporal.PlainDate, to: Temporal.PlainDate) => ({
    from: from.toString(),
    to: to.toString(),
  });
  switch (name) {
    case "today":
      return range(day, day);
    case "yesterday":
      return range(day.subtract({ days: 1 }), day.subtract({ days: 1 }));
    case "thisWeek":
      return range(day.subtract({ days: day.dayOfWeek - 1 }), day);
    case "lastMonth": {
      const first = day.with({ day: 1 });
      return range(first.subtract({ months: 1 }), first.subtract({ days: 1 }));
    }
  }
}

interface QuickRangesProps {
  view: SignedInView;
  /** The chosen days. */
  days: DayRange;
  /** The address of the page with other days. */
  linkTo(days: DayRange): string;
}

export const QuickRanges: FC<QuickRangesProps> = ({ view, days, linkTo }) => (
  <nav class="tabs ranges" aria-label={view.words.quickRanges}>
    {QUICK_RANGES.map((name) => {
      const range = quickRange(name, view.today);
      const isChosen = range.from === days.from && range.to === days.to;
      return (
        <a href={linkTo(range)} aria-current={isChosen ? "true" : undefined}>
          {view.words.quickRangeNames[name]}
        </a>
      );
    })}
  </nav>
);
