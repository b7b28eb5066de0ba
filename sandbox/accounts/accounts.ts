/** Linked GoPay accounts: link, read, unlink; and the payment options of an account. */

import { MINUTE } from "../engine/time.ts";
import { Refusal } from "../http/refusal.ts";
import { object, oneOf, text, validate } from "../http/validate.ts";
import type { PayAccount } from "../world/records.ts";
import { formatMoney } from "../world/transaction.ts";
import type { World } from "../world/world.ts";

const Link = object({
  payment_type: oneOf(["gopay"]),
  gopay_partner: object({
    phone_number: text(20).regex(
      /^[1-9]\d*$/,
      "must be numeric digits and must not begin with 0",
    ),
    country_code: text(4).regex(/^\d+$/, "must be numeric digits").nullish(),
    redirect_url: text(2000).nullish(),
  }),
});

/** Test phone numbers with special behaviour, without the country code. */
const NOT_REGISTERED = ["123450001"];
const BLOCKED = ["123450002", "8271939753"];
const NO_BALANCE = ["8242014881"];
const PAY_LATER = ["8103001242"];

const INDONESIA = "62";

const CODES = { ENABLED: "200", PENDING: "201", DISABLED: "204", EXPIRED: "204" };

const LINK_LIFETIME = 15 * MINUTE;

export function linkAccount(world: World, body: unknown) {
  const { gopay_partner: { phone_number, country_code, redirect_url } } = validate(Link, body);
  const country = country_code ?? INDONESIA;
  // Some callers send the country code twice: as `country_code` and in the number.
  const phone = country === INDONESIA ? phone_number.replace(/^62/, "") : phone_number;
  if (NOT_REGISTERED.includes(phone)) return refusedByWallet("105", "User Not Found");
  if (BLOCKED.includes(phone)) throw new Refusal(410);
  const account = world.accounts.put({
    id: world.random.uuid(),
    status: "PENDING",
    phone: `+${country}${phone}`,
    balance: NO_BALANCE.includes(phone) ? 0 : 1_000_000,
    hasPayLater: PAY_LATER.includes(phone),
    redirectUrl: redirect_url ?? null,
    expiresAt: world.clock.now() + LINK_LIFETIME,
  });
  const url = `${world.publicUrl()}/gopay/link/${account.id}`;
  return {
    ...describe(account),
    metadata: { reference_id: world.random.uuid() },
    actions: ["activation-deeplink", "activation-link-url", "activation-link-app"].map((name) => ({
      name,
      method: "GET",
      url,
    })),
  };
}

export function getAccount(world: World, id: string) {
  const account = findAccount(world, id);
  return account.status === "ENABLED"
    ? { ...describe(account), metadata: { payment_options: paymentOptions(account) } }
    : describe(account);
}

export function unlinkAccount(world: World, id: string) {
  const account = findAccount(world, id);
  if (account.status === "PENDING") throw new Refusal(412, "Account status cannot be updated.");
  return {
    ...describe(changeStatus(world, account, "DISABLED")),
    channel_response_code: "0",
    channel_response_message: "Process service request successfully.",
  };
}

/** Simulates the customer who follows the activation link. */
export function activateAccount(world: World, id: string): PayAccount {
  const account = findAccount(world, id);
  if (account.status !== "PENDING") throw new Refusal(412, "Account status cannot be updated.");
  return changeStatus(world, account, "ENABLED");
}

export function expireAccount(world: World, account: PayAccount): void {
  world.accounts.put({ ...account, status: "EXPIRED" });
}

function changeStatus(world: World, account: PayAccount, status: "ENABLED" | "DISABLED") {
  if (account.status === status) return account;
  const changed = world.accounts.put({ ...account, status });
  world.notifier.notifyAccount(changed);
  return changed;
}

function findAccount(world: World, id: string): PayAccount {
  const account = world.accounts.get(id);
  if (!account) throw new Refusal(404, "Account doesn't exist.");
  return account;
}

function describe({ id, status }: PayAccount) {
  return {
    status_code: CODES[status],
    payment_type: "gopay",
    account_id: id,
    account_status: status,
  };
}

function refusedByWallet(code: string, message: string) {
  return {
    status_code: "202",
    payment_type: "gopay",
    channel_response_code: code,
    channel_response_message: message,
  };
}

export function paymentOptions(account: PayAccount) {
  const option = (name: string, amount: number) => ({
    name,
    active: true,
    balance: { value: formatMoney(amount), currency: "IDR" },
    metadata: {},
    token: btoa(JSON.stringify({ type: name, id: account.id })),
  });
  const wallet = option("GOPAY_WALLET", account.balance);
  return account.hasPayLater ? [wallet, option("PAY_LATER", 5_000_000)] : [wallet];
}
