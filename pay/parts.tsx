/** Parts of several screens: buttons, numbers to copy, deadlines, steps and notes. */

import type { Child, FC } from "hono/jsx";
import { groupsOfFour, jakartaTime, rupiah, webAddress } from "./format.ts";
import { Line } from "./methods.tsx";
import type { PageModel } from "./model.ts";
import type { Words } from "./words.ts";

/** What every part needs. */
export interface View {
  model: PageModel;
  words: Words;
}

/**
 * An address of this page or below it. It names the language, because the page has no cookie that
 * could remember the customer's choice.
 */
export function linkTo({ model }: View, below = "", language = model.language): string {
  return `${model.path}${below}?lang=${language}`;
}

interface CopyableProps {
  view: View;
  label: string;
  /** What is copied. */
  value: string;
  children?: Child;
}

/** A value that the customer types or pastes in another app. The button needs scripts. */
export const Copyable: FC<CopyableProps> = ({ view, label, value, children }) => (
  <div class="copyable">
    <dt>{label}</dt>
    <dd>
      {children}
      <button
        type="button"
        class="copy needs-script"
        data-copy={value}
        data-copied={view.words.copied}
        aria-label={view.words.copyOf(label)}
      >
        <Line>
          <path d="M9 9h10v11H9zM15 9V5H5v11h4" />
        </Line>
        <span>{view.words.copy}</span>
      </button>
    </dd>
  </div>
);

/** Groups of four that are copied without spaces when the customer selects them. */
export const BigNumber: FC<{ number: string }> = ({ number }) => (
  <span class="number">
    {groupsOfFour(number).map((group, index) => (
      <>
        {index > 0 && <wbr />}
        <span>{group}</span>
      </>
    ))}
  </span>
);

/** From this length on, the total is written smaller to fit on one line of a phone. */
const LONG_AMOUNT = 15;

/** The total, the largest text of a screen. */
export const Sum: FC<{ amount: number }> = ({ amount }) => {
  const text = rupiah(amount);
  return <p class={text.length < LONG_AMOUNT ? "sum" : "sum long"}>{text}</p>;
};

/** When the time to pay ends, and the time that is left, which needs scripts. */
export const Deadline: FC<{ view: View; at: Date | null }> = ({ view, at }) => {
  if (at === null) return null;
  const { words, model } = view;
  return (
    <p class="deadline">
      <span>
        {words.payBefore} <time datetime={at.toISOString()}>{jakartaTime(at, model.language)}</time>
      </span>
      <span
        class="countdown needs-script"
        role="timer"
        aria-label={words.timeLeft}
        data-deadline={at.getTime()}
        data-days={words.days}
      />
    </p>
  );
};

/** Texts between asterisks are names of menus. */
export const Steps: FC<{ steps: string[] }> = ({ steps }) => (
  <ol class="steps">
    {steps.map((step) => (
      <li>
        <span>{withNames(step)}</span>
      </li>
    ))}
  </ol>
);

function withNames(step: string): Child[] {
  return step.split("*").map((text, index) => (index % 2 === 1 ? <b>{text}</b> : text));
}

/** The button to choose another method, or why it is not available. */
export const ChangeMethod: FC<{ view: View; change: "now" | "later" | "never" }> = (
  { view, change },
) => {
  const { words } = view;
  if (change !== "now") {
    return <p class="help change">{change === "later" ? words.changeLater : words.cannotChange}</p>;
  }
  return (
    <form class="change" method="post" action={linkTo(view, "/change")}>
      <button type="submit" class="quiet">{words.change}</button>
    </form>
  );
};

interface CheckLinkProps {
  view: View;
  isMain?: boolean;
  /** Whether the gateway is asked before the page is compared. */
  asksGateway?: boolean;
  children?: Child;
}

/** Loads the page again: a button with scripts, a link without. */
export const CheckLink: FC<CheckLinkProps> = (
  { view, isMain = false, asksGateway = false, children },
) => {
  const { words } = view;
  return (
    <>
      <a
        class={isMain ? "button main" : "button"}
        href={linkTo(view, asksGateway ? "/return" : "")}
        data-check={asksGateway ? "gateway" : "state"}
        data-checking={words.checking}
        data-same={words.notYet}
        data-offline={words.cannotCheck}
      >
        {children}
      </a>
      <p class="result" role="status" data-result></p>
    </>
  );
};

/** Back to the shop without paying. */
export const BackToShop: FC<{ view: View; class?: string }> = ({ view, class: name }) => {
  const { words, model } = view;
  const url = webAddress(model.cancelUrl);
  if (url === null) return null;
  return (
    <a class={name ?? "back"} href={url} rel="noreferrer">{words.backTo(model.merchant.name)}</a>
  );
};

/** Takes the focus after a live update, so that screen readers read from here. */
export const Heading: FC<{ children?: Child }> = ({ children }) => (
  <h1 id="heading" tabindex={-1}>{children}</h1>
);
