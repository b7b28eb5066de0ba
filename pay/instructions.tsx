/** What the customer does to pay with the chosen method. */

import type { Child, FC } from "hono/jsx";
import type { MethodId } from "../core/checkouts/methods.ts";
import { appAddress, rupiah, webAddress } from "./format.ts";
import { Line, MethodIcon, methodName } from "./methods.tsx";
import type { Screen, ShownPayment } from "./model.ts";
import {
  BackToShop,
  BigNumber,
  ChangeMethod,
  CheckLink,
  Copyable,
  Deadline,
  Heading,
  Steps,
  type View,
} from "./parts.tsx";
import { encodeQr, QrCode } from "./qr.tsx";
import { type BankMethod, guidesOf } from "./steps.ts";
import type { Words } from "./words.ts";

type InstructionsScreen = Extract<Screen, { type: "instructions" }>;

interface PartProps {
  view: View;
  payment: ShownPayment;
}

export const Instructions: FC<{ view: View; screen: InstructionsScreen }> = ({ view, screen }) => {
  const { words, model } = view;
  const { method, payment, change } = screen;
  return (
    <>
      <div class="title">
        <MethodIcon method={method} />
        <Heading>{headingOf(words, method)}</Heading>
      </div>
      <Deadline view={view} at={payment.expiry_time ?? model.expiresAt} />
      {partOf(view, method, payment)}
      <section class="progress">
        <p class="waiting">
          <span class="dot" aria-hidden="true"></span>
          <strong>{words.waitingForYou}</strong>
        </p>
        <p class="help needs-script">{words.updatesItself}</p>
        <p class="help">{words.comeBack}</p>
        <CheckLink view={view}>{words.havePaid}</CheckLink>
      </section>
      <ChangeMethod view={view} change={change} />
      <BackToShop view={view} />
    </>
  );
};

export function headingOf(words: Words, method: MethodId): string {
  const { pay } = words;
  const name = methodName(words, method);
  switch (method) {
    case "qris":
      return pay.scan;
    case "gopay":
    case "shopeepay":
      return pay.wallet(name);
    case "ovo":
      return pay.ovo;
    case "credit_card":
      return words.card.title;
    case "echannel":
      return pay.bill;
    case "indomaret":
    case "alfamart":
      return pay.store(name);
    case "akulaku":
    case "kredivo":
      return pay.later(name);
    default:
      return pay.bank(name);
  }
}

function partOf(view: View, method: InstructionsScreen["method"], payment: ShownPayment): Child {
  const { words } = view;
  switch (method) {
    case "qris":
      return <Qris view={view} payment={payment} />;
    case "gopay":
    case "shopeepay":
      return <Wallet view={view} payment={payment} name={methodName(words, method)} />;
    case "ovo":
      return <Ovo view={view} />;
    case "indomaret":
    case "alfamart":
      return <Store view={view} payment={payment} method={method} />;
    case "akulaku":
    case "kredivo":
      return <PayLater view={view} payment={payment} name={methodName(words, method)} />;
    default:
      return <Bank view={view} payment={payment} method={method} />;
  }
}

/** A virtual account, or the bill of Mandiri, which has two codes. */
const Bank: FC<PartProps & { method: BankMethod }> = ({ view, payment, method }) => {
  const { words, model } = view;
  const numbers = method === "echannel"
    ? { [words.billerCode]: payment.biller_code, [words.billKey]: payment.bill_key }
    : { [words.vaNumber]: payment.va_number };
  return (
    <>
      <Numbers view={view} numbers={numbers} hasAmount />
      <section class="guides">
        <h2>{words.howToPay}</h2>
        {guidesOf(method, model.language).map(({ channel, name, steps }, index) => (
          <details id={`guide-${channel}`} name="guide" open={index === 0}>
            <summary>
              <span>
                {words.channels[channel]}
                {name && <small>{name}</small>}
              </span>
              <Line>
                <path d="m6 9 6 6 6-6" />
              </Line>
            </summary>
            <Steps steps={steps} />
          </details>
        ))}
        <p class="help">{words.menusDiffer}</p>
      </section>
    </>
  );
};

interface NumbersProps {
  view: View;
  /** Each with its label. */
  numbers: Record<string, string | null>;
  /** Whether the customer has to enter the amount, too. */
  hasAmount?: boolean;
}

const Numbers: FC<NumbersProps> = ({ view, numbers, hasAmount = false }) => {
  const { words, model } = view;
  const amount = model.order.gross_amount;
  return (
    <dl class="card numbers">
      {Object.entries(numbers).map(([label, number]) =>
        number === null
          ? (
            <div>
              <dt>{label}</dt>
              <dd>{words.missing}</dd>
            </div>
          )
          : (
            <Copyable view={view} label={label} value={number}>
              <BigNumber number={number} />
            </Copyable>
          )
      )}
      {hasAmount && (
        <Copyable view={view} label={words.amount} value={String(amount)}>
          <span class="number">{rupiah(amount)}</span>
        </Copyable>
      )}
    </dl>
  );
};

/** The code as a drawing or an image, with a link to an image that can be saved. */
const Qr: FC<PartProps> = ({ view, payment }) => {
  const { words, model } = view;
  const { qr_string, qrPath } = payment;
  const qr = qr_string === null ? null : encodeQr(qr_string);
  if (qr === null && qrPath === null) return <p>{words.qrTooLong}</p>;
  return (
    <figure class="qr-frame">
      {qr
        ? <QrCode qr={qr} label={words.qrLabel} />
        : <img class="qr" src={qrPath!} alt={words.qrLabel} width={280} height={280} />}
      <figcaption>
        <strong class="amount">{rupiah(model.order.gross_amount)}</strong>
        <a
          class="button"
          href={qr ? `${model.path}/qr.png` : qrPath!}
          download={`qr-${model.order.order_id}.png`}
        >
          <Line>
            <path d="M12 4v11M7 10.5l5 5 5-5M5 20h14" />
          </Line>
          {words.saveQr}
        </a>
      </figcaption>
    </figure>
  );
};

const Qris: FC<PartProps> = ({ view, payment }) => (
  <div class="card">
    <Qr view={view} payment={payment} />
    <Steps steps={view.words.qrisSteps} />
  </div>
);

/** The app first on a phone, the code first on a desktop: the stylesheet decides the order. */
const Wallet: FC<PartProps & { name: string }> = ({ view, payment, name }) => {
  const { words } = view;
  const link = appAddress(payment.deeplink_url);
  const hasQr = payment.qr_string !== null || payment.qrPath !== null;
  const linkQr = hasQr || webAddress(link) === null ? null : encodeQr(link!);
  return (
    <div class="card wallet">
      {link !== null && (
        <div class="wallet-app">
          <p class="on-desktop">{words.onThisPhone(name)}</p>
          <a class="button main" href={link} rel="noreferrer">{words.openApp(name)}</a>
          <p class="help">{words.appHelp(name)}</p>
        </div>
      )}
      {(hasQr || linkQr) && (
        <div class="wallet-qr">
          {link !== null && <p class="divider on-phone">{words.orScan}</p>}
          <p>{hasQr ? words.scanWith(name) : words.scanWithCamera(name)}</p>
          {linkQr
            ? (
              <figure class="qr-frame">
                <QrCode qr={linkQr} label={words.qrLabel} />
              </figure>
            )
            : <Qr view={view} payment={payment} />}
        </div>
      )}
      {link === null && !hasQr && <p>{words.missing}</p>}
      {link !== null && !hasQr && linkQr === null && (
        <p class="help on-desktop">{words.useAPhone(name)}</p>
      )}
    </div>
  );
};

const Ovo: FC<{ view: View }> = ({ view }) => (
  <div class="card">
    <Steps steps={view.words.ovoSteps} />
    <p class="help">{view.words.ovoHelp}</p>
  </div>
);

const Store: FC<PartProps & { method: "indomaret" | "alfamart" }> = (
  { view, payment, method },
) => {
  const { words, model } = view;
  // Asterisks mark names in steps.
  const shop = model.merchant.name.replaceAll("*", "");
  return (
    <>
      <Numbers view={view} numbers={{ [words.paymentCode]: payment.payment_code }} />
      <section class="card">
        <h2>{words.howToPay}</h2>
        <Steps steps={words.storeSteps(words.storeNames[method], shop)} />
      </section>
    </>
  );
};

const PayLater: FC<PartProps & { name: string }> = ({ view, payment, name }) => {
  const { words } = view;
  const url = webAddress(payment.redirect_url);
  return (
    <div class="card action">
      {url === null ? <p>{words.missing}</p> : (
        <>
          <a class="button main" href={url} rel="noreferrer">{words.continueTo(name)}</a>
          <p class="help">{words.laterHelp(name)}</p>
        </>
      )}
    </div>
  );
};
