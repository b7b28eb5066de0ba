/** The request to create an invoice, and its checks. */

import { z } from "zod";
import { parseTime } from "../engine/time.ts";
import { invalid } from "../http/refusal.ts";
import {
  flag,
  freeObject,
  integer,
  list,
  object,
  oneOf,
  rupiah,
  text,
  validate,
} from "../http/validate.ts";
import { total } from "./totals.ts";

const MAX_AMOUNT = 99_999_999;
const MAX_TOTAL = Number.MAX_SAFE_INTEGER;
const time = text(30).refine((value) => parseTime(value) !== null, "format is invalid");

/** For each bank, how many digits a number chosen by the merchant may have. */
export const BANKS: Record<string, { min: number; max: number }> = {
  bca_va: { min: 11, max: 11 },
  mandiri_bill: { min: 1, max: 12 },
  bni_va: { min: 1, max: 8 },
  bri_va: { min: 1, max: 13 },
  cimb_va: { min: 1, max: 16 },
  permata_va: { min: 10, max: 10 },
};

const Create = object({
  order_id: text(36).regex(/^[\w~.-]+$/, "must have only letters, digits and - _ ~ ."),
  invoice_number: text(40),
  due_date: time,
  invoice_date: time,
  invoice_title: text(20).nullish(),
  invoice_paid_title: text(20).nullish(),
  customer_details: object({
    id: text(36).nullish(),
    name: text(40),
    email: text(255).nullish(),
    phone: text(15).regex(/^[^0]/, "must not start with 0").nullish(),
  }),
  item_details: list(
    object({
      item_id: text(30).nullish(),
      description: text(150),
      quantity: integer(1, MAX_AMOUNT),
      price: rupiah(0, MAX_AMOUNT),
      discount_percentage: z.number("must be a number").min(0, "must be 0 to 100")
        .max(100, "must be 0 to 100").nullish(),
    }),
    100,
  ),
  payment_type: oneOf(["payment_link", "virtual_account"]),
  payment_link: object({
    is_custom_expiry: flag().nullish(),
    enabled_payments: list(text(50), 50),
    callbacks: object({ finish: text(2000).regex(/^https:/, "must be https").nullish() }).nullish(),
    expiry: freeObject(500).nullish(),
    credit_card: freeObject(2000).nullish(),
  }).nullish(),
  virtual_accounts: list(
    object({
      name: text(20).nullish(),
      bank: text(20).nullish(),
      number: text(16).regex(/^\d+$/, "must be numeric digits").nullish(),
    }),
    10,
  ).nullish(),
  amount: object({
    vat: rupiah(0).nullish(),
    discount: rupiah(0, 99_999_999_999).nullish(),
    shipping: rupiah(0, 99_999_999_999).nullish(),
  }).nullish(),
  tax_mode: oneOf(["exclusive", "inclusive"]).nullish(),
  taxes: list(
    object({
      name: text(50),
      type: oneOf(["percentage", "fixed"]),
      value: z.number("must be a number").min(0, "must not be negative").max(
        MAX_AMOUNT,
        "is too large",
      ),
    }),
    10,
  ).nullish(),
  reference: text(90, 0).nullish(),
  notes: text(1000, 0).nullish(),
  document_type: oneOf(["invoice", "quotation"]).nullish(),
  quotation_date: time.nullish(),
  quotation_validity_date: time.nullish(),
  metadata: freeObject(4096).nullish(),
});

export function parseRequest(body: unknown) {
  const request = validate(Create, body);
  const amount = total(request);
  const problems = [
    ...request.item_details.length > 0 ? [] : ["item must not be empty"],
    ...request.payment_type === "payment_link" && !request.payment_link
      ? ["payment_link is required"]
      : [],
    ...request.payment_type === "virtual_account" && !request.virtual_accounts?.length
      ? ["virtual_accounts is required"]
      : [],
    ...request.tax_mode === "inclusive" && !request.taxes?.length ? ["taxes is required"] : [],
    ...request.amount?.vat && request.taxes ? ["vat and taxes exclude each other"] : [],
    ...(request.virtual_accounts ?? []).flatMap(checkAccount),
    ...amount > 0 ? [] : ["gross_amount must be more than 0"],
    ...amount > MAX_TOTAL ? ["gross_amount is too large"] : [],
    ...parseTime(request.due_date)! > parseTime(request.invoice_date)!
      ? []
      : ["due_date must be after invoice_date"],
  ];
  if (problems.length > 0) throw invalid(...problems);
  return request;
}

interface Account {
  name?: string | null;
  bank?: string | null;
  number?: string | null;
}

/** The gateway's field table uses `bank`, its examples use `name`. */
export function bankOf({ bank, name }: Account): string {
  return bank ?? name ?? "";
}

function checkAccount(account: Account): string[] {
  const bank = bankOf(account);
  if (!Object.hasOwn(BANKS, bank)) return ["virtual_accounts.bank is not supported"];
  const { min, max } = BANKS[bank]!;
  const digits = account.number?.length ?? max;
  if (digits >= min && digits <= max) return [];
  return [`virtual_accounts.number of ${bank} must have ${min} to ${max} digits`];
}
