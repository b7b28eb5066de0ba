/** `/console/`: pages for staff and viewers. Everything they do goes through the core, like the API. */

import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Child } from "hono/jsx";
import type { AddressList } from "../core/address_list.ts";
import type { Authenticate } from "../core/auth/authenticator.ts";
import type { Caller } from "../core/auth/caller.ts";
import {
  endSession,
  listOpenSessions,
  type OpenSession,
  signIn,
  signOut,
} from "../core/auth/console_sessions.ts";
import { type FieldError, ServiceError } from "../core/errors.ts";
import type { EventStreams } from "../core/events/streams.ts";
import {
  approvePayment,
  cancelPayment,
  capturePayment,
  denyPayment,
  expirePayment,
} from "../core/payments/actions.ts";
import { getStatus } from "../core/payments/check_at_gateway.ts";
import type { PaymentDeps } from "../core/payments/payment_record.ts";
import { readPayment } from "../core/payments/read.ts";
import { refundPayment } from "../core/payments/refund.ts";
import { PAYMENT_ACTIONS, type PaymentAction } from "../core/payments/states.ts";
import { forCaller, type PaymentView } from "../core/payments/views.ts";
import { createFixedResponse } from "../openapi/fixed_response.ts";
import { clientAddress, createRateLimit } from "../routes/middleware/rate_limit.ts";
import { findPayments } from "../routes/payments/list.ts";
import { EventNameSchema } from "../routes/schemas/event_name.ts";
import { scopeOf } from "../routes/shared/action.ts";
import { fingerprintRequest } from "../routes/shared/idempotency.ts";
import { parseId } from "../routes/shared/paths.ts";
import { toServiceError } from "../routes/shared/problem.ts";
import type { AppEnv } from "../routes/shared/router.ts";
import { amountLimit, ConfirmPage, PaymentPage } from "./payment.tsx";
import { PaymentsPage, readPaymentQuery, toApiQuery } from "./payments.tsx";
import { ProblemPage } from "./problem.tsx";
import {
  clearSessionCookie,
  openSessionOf,
  requireOwnForm,
  setPreference,
  setSessionCookie,
  type SignedInView,
  signInToken,
  THEMES,
  type View,
  viewOf,
} from "./session.ts";
import { SessionsPage } from "./sessions.tsx";
import { SignInPage } from "./sign_in.tsx";
import { isLanguage } from "./words.ts";

export interface ConsoleDeps extends PaymentDeps {
  basePath: string;
  authenticate: Authenticate;
  streams: EventStreams;
  trustedProxies: AddressList | null;
  acceptDevelopmentKeys: boolean;
  /** Signs in without a credential; null except in the embedded default. */
  developmentStaffKey: string | null;
}
