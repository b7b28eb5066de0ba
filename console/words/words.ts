/** The texts of the console in each language. The English ones define the type of the others. */

import { COMMON_IN_ENGLISH, COMMON_IN_INDONESIAN } from "./common.ts";
import { CHECKOUTS_IN_ENGLISH, CHECKOUTS_IN_INDONESIAN } from "./checkouts.ts";
import { DOCTOR_IN_ENGLISH, DOCTOR_IN_INDONESIAN } from "./doctor.ts";
import { INVOICES_IN_ENGLISH, INVOICES_IN_INDONESIAN } from "./invoices.ts";
import { KEYS_IN_ENGLISH, KEYS_IN_INDONESIAN } from "./keys.ts";
import { OPERATIONS_IN_ENGLISH, OPERATIONS_IN_INDONESIAN } from "./operations.ts";
import { OVERVIEW_IN_ENGLISH, OVERVIEW_IN_INDONESIAN } from "./overview.ts";
import {
  CUSTOMER_IN_ENGLISH,
  CUSTOMER_IN_INDONESIAN,
  PAYMENT_IN_ENGLISH,
  PAYMENT_IN_INDONESIAN,
  PAYMENTS_IN_ENGLISH,
  PAYMENTS_IN_INDONESIAN,
} from "./payments.ts";
import { PROBLEMS_IN_ENGLISH, PROBLEMS_IN_INDONESIAN } from "./problems.ts";
import { REPORTS_IN_ENGLISH, REPORTS_IN_INDONESIAN } from "./reports.ts";
import { SUBSCRIPTIONS_IN_ENGLISH, SUBSCRIPTIONS_IN_INDONESIAN } from "./subscriptions.ts";
import { TIMELINE_IN_ENGLISH, TIMELINE_IN_INDONESIAN } from "./timeline.ts";

export const ENGLISH = {
  ...COMMON_IN_ENGLISH,
  ...OPERATIONS_IN_ENGLISH,
  ...REPORTS_IN_ENGLISH,
  problems: PROBLEMS_IN_ENGLISH,
  paymentsPage: PAYMENTS_IN_ENGLISH,
  paymentPage: PAYMENT_IN_ENGLISH,
  customerPage: CUSTOMER_IN_ENGLISH,
  checkoutsPage: CHECKOUTS_IN_ENGLISH,
  invoicesPage: INVOICES_IN_ENGLISH,
  subscriptionsPage: SUBSCRIPTIONS_IN_ENGLISH,
  keysPage: KEYS_IN_ENGLISH,
  overviewPage: OVERVIEW_IN_ENGLISH,
  doctorPage: DOCTOR_IN_ENGLISH,
  timeline: TIMELINE_IN_ENGLISH,
};

export type Words = typeof ENGLISH;

export const INDONESIAN: Words = {
  ...COMMON_IN_INDONESIAN,
  ...OPERATIONS_IN_INDONESIAN,
  ...REPORTS_IN_INDONESIAN,
  problems: PROBLEMS_IN_INDONESIAN,
  paymentsPage: PAYMENTS_IN_INDONESIAN,
  paymentPage: PAYMENT_IN_INDONESIAN,
  customerPage: CUSTOMER_IN_INDONESIAN,
  checkoutsPage: CHECKOUTS_IN_INDONESIAN,
  invoicesPage: INVOICES_IN_INDONESIAN,
  subscriptionsPage: SUBSCRIPTIONS_IN_INDONESIAN,
  keysPage: KEYS_IN_INDONESIAN,
  overviewPage: OVERVIEW_IN_INDONESIAN,
  doctorPage: DOCTOR_IN_INDONESIAN,
  timeline: TIMELINE_IN_INDONESIAN,
};
