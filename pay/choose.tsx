/** The list of payment methods. Each is a form of its own that works without scripts. */

import type { FC } from "hono/jsx";
import type { MethodId } from "../core/checkouts/methods.ts";
import { shortRupiah } from "./format.ts";
import { type Group, Line, MethodIcon, methodName, METHODS } from "./methods.tsx";
import type { ChoosableMethod, Screen } from "./model.ts";
import { BackToShop, Deadline, Heading, linkTo, type View } from "./parts.tsx";
import type { Words } from "./words.ts";

type ChooseScreen = Extract<Screen, { type: "choose" }>;

interface ChooseProps {
  view: View;
  screen: ChooseScreen;
}

export const Choose: FC<ChooseProps> = ({ view, screen }) => {
  const { words, model } = view;
  if (screen.methods.length === 0) {
    return (
      <>
        <Notice view={view} screen={screen} />
        <Heading>{words.choose.none}</Heading>
        <p>{words.choose.noneHelp(model.merchant.name)}</p>
        <BackToShop view={view} class="button main" />
      </>
    );
  }
  return (
    <>
      <Notice view={view} screen={screen} />
      <Heading>{words.choose.title}</Heading>
      <Deadline view={view} at={model.expiresAt} />
      {groupsOf(screen.methods).map(([group, methods]) => (
        <section aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{words.choose.groups[group]}</h2>
          <ul class="methods">
            {methods.map((method) => (
              <li>
                <Choice view={view} screen={screen} method={method} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      <BackToShop view={view} />
    </>
  );
};

/** In the merchant's order: a group is where its first method is. */
function groupsOf(methods: ChoosableMethod[]): [Group, ChoosableMethod[]][] {
  const groups = new Map<Group, ChoosableMethod[]>();
  for (const method of methods) {
    const { group } = METHODS[method.id];
    groups.set(group, [...groups.get(group) ?? [], method]);
  }
  return [...groups];
}

const Notice: FC<ChooseProps> = ({ view: { words }, screen: { notice, noticeMethod } }) => {
  if (notice === null) return null;
  return (
    <p class={notice === "closed" ? "notice" : "notice warning"} role="status">
      <Line>
        <path d="M12 4a8 8 0 1 0 .01 0zM12 8v5M12 16v.01" />
      </Line>
      <span>
        {noticeMethod === null ? words.noticeWithoutMethod : textOf(words, notice, noticeMethod)}
      </span>
    </p>
  );
};

function textOf(words: Words, notice: NonNullable<ChooseScreen["notice"]>, method: MethodId) {
  const ofCards: Record<string, string> = words.card.notices;
  if (method === "credit_card") return ofCards[notice]!;
  return words.notices[notice as keyof Words["notices"]](methodName(words, method));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const Choice: FC<ChooseProps & { method: ChoosableMethod }> = ({ view, screen, method }) => {
  const amount = view.model.order.gross_amount;
  const isPossible = amount >= (method.min ?? amount) && amount <= (method.max ?? amount);
  if (!isPossible) {
    return (
      <div class="method impossible">
        <Row view={view} method={method} />
      </div>
    );
  }
  if (method.id === "ovo") return <OvoChoice view={view} screen={screen} method={method} />;
  return (
    <form method="post" action={linkTo(view)}>
      <button type="submit" class="method" name="method" value={method.id}>
        <Row view={view} method={method} />
        <Chevron />
      </button>
    </form>
  );
};

/** Between 8 and 15 digits, and no letters. */
const PHONE_PATTERN = "(?:[^A-Za-z0-9]*[0-9]){8,15}[^A-Za-z0-9]*";

/** OVO sends its request to a phone number, so the row opens a field first. */
const OvoChoice: FC<ChooseProps & { method: ChoosableMethod }> = ({ view, screen, method }) => {
  const words = view.words.choose;
  const isUnknown = screen.notice === "phone_unknown";
  return (
    <details id="ovo" open={isUnknown}>
      <summary class="method">
        <Row view={view} method={method} />
        <Chevron />
      </summary>
      <form class="phone" method="post" action={linkTo(view)}>
        <input type="hidden" name="method" value="ovo" />
        <label for="phone">{words.phone}</label>
        <input
          id="phone"
          name="phone"
          type="tel"
          inputmode="tel"
          autocomplete="tel"
          placeholder="0812 3456 7890"
          value={screen.phone ?? ""}
          required
          maxlength={30}
          pattern={PHONE_PATTERN}
          title={words.phoneDigits}
          aria-describedby="phone-help"
          aria-invalid={isUnknown ? "true" : undefined}
        />
        <p id="phone-help" class={isUnknown ? "wrong" : "help"}>
          {isUnknown ? words.phoneUnknown : words.phoneHelp}
        </p>
        <button type="submit" class="button main">{words.withOvo}</button>
      </form>
    </details>
  );
};

const Row: FC<{ view: View; method: ChoosableMethod }> = ({ view: { words }, method }) => {
  const details = [hintOf(words, method.id), limitsOf(words, method)].filter(Boolean);
  return (
    <>
      <MethodIcon method={method.id} />
      <span class="method-text">
        <strong>{capitalized(methodName(words, method.id))}</strong>
        {details.length > 0 && <span>{details.join(" · ")}</span>}
      </span>
    </>
  );
};

function hintOf({ choose: { hints } }: Words, method: MethodId): string | null {
  if (method in hints) return hints[method as keyof typeof hints];
  const { group } = METHODS[method];
  return group === "store" || group === "later" ? hints[group] : null;
}

function limitsOf({ choose, units }: Words, { min, max }: ChoosableMethod): string | null {
  const format = (amount: number) => shortRupiah(amount, units).replaceAll(" ", "\u00a0");
  const least = min === null ? null : format(min);
  const most = max === null ? null : format(max);
  if (least !== null && most !== null) return choose.between(least, most);
  if (least !== null) return choose.from(least);
  return most === null ? null : choose.upTo(most);
}

const Chevron: FC = () => (
  <span class="chevron">
    <Line>
      <path d="m9 5 7 7-7 7" />
    </Line>
  </span>
);
