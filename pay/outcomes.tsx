/** The screens on which the customer has nothing to pay: waiting, processing, paid and ended. */

import type { Child, FC } from "hono/jsx";
import { jakartaTime, rupiah, webAddress } from "./format.ts";
import { Line, methodName } from "./methods.tsx";
import type { Screen } from "./model.ts";
import { BackToShop, CheckLink, Heading, linkTo, Sum, type View } from "./parts.tsx";
import type { Words } from "./words.ts";

type ScreenOf<T extends Screen["type"]> = Extract<Screen, { type: T }>;

export const Waiting: FC<{ view: View; screen: ScreenOf<"waiting"> }> = ({ view, screen }) => {
  const { words } = view;
  const { waiting, checkAgain } = words;
  const method = methodName(words, screen.method);
  const isStarting = screen.reason === "starting";
  return (
    <div class="card outcome">
      <Spinner />
      <Heading>{isStarting ? waiting.starting(method) : waiting.closing(method)}</Heading>
      <p>
        {isStarting
          ? waiting.startingHelp
          : screen.method === "credit_card"
          ? waiting.closingCardHelp
          : waiting.closingHelp}
      </p>
      <CheckLink view={view}>{checkAgain}</CheckLink>
      {screen.repeat && <Repeat view={view} method={screen.method} phone={screen.repeat.phone} />}
    </div>
  );
};

/** Continues a charge that was interrupted, or that the gateway did not accept for now. */
const Repeat: FC<{ view: View; method: string; phone: string | null }> = (
  { view, method, phone },
) => {
  const { waiting } = view.words;
  return (
    <form method="post" action={linkTo(view)}>
      <p class="help">{waiting.repeatHelp}</p>
      {phone !== null && <input type="hidden" name="phone" value={phone} />}
      <button type="submit" class="quiet" name="method" value={method}>{waiting.repeat}</button>
    </form>
  );
};

export const Processing: FC<{ view: View; screen: ScreenOf<"processing"> }> = (
  { view, screen },
) => {
  const { words } = view;
  const { processing, checkAgain } = words;
  return (
    <div class="card outcome">
      <Spinner />
      <Heading>{processing.title}</Heading>
      {screen.method && (
        <p>
          {screen.method === "credit_card"
            ? processing.cardUnderReview
            : processing.helpWith(methodName(words, screen.method))}
        </p>
      )}
      <p>{processing.help}</p>
      <CheckLink view={view}>{checkAgain}</CheckLink>
    </div>
  );
};

const Spinner: FC = () => <span class="spinner" aria-hidden="true"></span>;

export const Paid: FC<{ view: View; screen: ScreenOf<"paid"> }> = ({ view, screen }) => {
  const { words: { paid, backTo }, model: { merchant, order } } = view;
  const url = webAddress(screen.finishUrl);
  return (
    <>
      <div class="card outcome good">
        <Mark>
          <path class="tick" d="m6 12.5 4 4 8-9" />
        </Mark>
        <Heading>{paid.title}</Heading>
        <Sum amount={screen.amount} />
        <p>{order.customer_name ? paid.thanks(order.customer_name) : paid.thankYou}</p>
        {screen.isLate && <p class="notice warning">{paid.late(merchant.name)}</p>}
        {url === null
          ? <p class="help">{paid.done}</p>
          : <a class="button main" href={url} rel="noreferrer">{backTo(merchant.name)}</a>}
      </div>
      <Receipt view={view} screen={screen} />
    </>
  );
};

/** What is printed. */
const Receipt: FC<{ view: View; screen: ScreenOf<"paid"> }> = ({ view, screen }) => {
  const { words, model: { language, merchant, order } } = view;
  const facts = {
    [words.paid.paidTo]: merchant.name,
    [words.order]: order.order_id,
    [words.paid.paidAt]: jakartaTime(screen.paidAt, language),
    [words.paid.paidWith]: paidWith(words, screen.method),
    [words.paid.reference]: screen.paymentId,
    ...screen.amount !== order.gross_amount && { [words.paid.amount]: rupiah(screen.amount) },
  };
  return (
    <section class="card receipt" aria-labelledby="receipt">
      <h2 id="receipt">{words.paid.receipt}</h2>
      <dl class="facts">
        {Object.entries(facts).map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Items view={view} />
      <button type="button" class="quiet needs-script" data-print>{words.paid.print}</button>
    </section>
  );
};

/** Longer than in the list of methods, where the group says more. */
function paidWith(words: Words, method: string): string {
  const { paid } = words;
  const name = methodName(words, method);
  if (method.endsWith("_va")) return paid.virtualAccount(name);
  return method === "credit_card" ? paid.card : name;
}

/** What was ordered, and the total. */
export const Items: FC<{ view: View }> = ({ view: { words, model: { order } } }) => (
  <ul class="items">
    {order.items.map(({ name, price, quantity }) => (
      <li>
        <span>
          {name}
          {quantity !== 1 && <span class="faint">{` × ${quantity}`}</span>}
        </span>
        <span class="amount">{rupiah(price * quantity)}</span>
      </li>
    ))}
    <li class="total">
      <span>{words.total}</span>
      <span class="amount">{rupiah(order.gross_amount)}</span>
    </li>
  </ul>
);

export const Ended: FC<{ view: View; screen: ScreenOf<"expired" | "cancelled" | "failed"> }> = (
  { view, screen },
) => {
  const { words, model } = view;
  const texts = words[screen.type];
  return (
    <div class={screen.type === "failed" ? "card outcome bad" : "card outcome"}>
      <Mark>
        {screen.type === "expired" ? <path d="M12 5v7l4.5 2.5" /> : <path d="m8 8 8 8M16 8l-8 8" />}
      </Mark>
      <Heading>{texts.title}</Heading>
      <p>{texts.help}</p>
      <p>{texts.next(model.merchant.name)}</p>
      <BackToShop view={view} class="button main" />
      <p class="help">{texts.already}</p>
      <CheckLink view={view}>{words.checkAgain}</CheckLink>
    </div>
  );
};

const Mark: FC<{ children?: Child }> = ({ children }) => (
  <span class="mark" aria-hidden="true">
    <Line>{children}</Line>
  </span>
);
