/** Returns the settings that an operator may read, as text, without secrets. */

import type { Config } from "./config.ts";
import type { SETTINGS } from "./settings.ts";

type SettingName = keyof typeof SETTINGS.shape;

/** The shown parts of the configuration. A new part may be a secret: add it here to show it. */
export type ShownConfig = Pick<
  Config,
  | "backupTimeFile"
  | "basePath"
  | "databasePoolSize"
  | "drainSeconds"
  | "gateway"
  | "invoicePayments"
  | "jwt"
  | "keep"
  | "logGateway"
  | "mail"
  | "merchant"
  | "notificationConfirm"
  | "publicUrl"
  | "queue"
  | "rateLimit"
  | "sharedLimits"
  | "recheck"
  | "streams"
  | "webhookAllowPrivate"
>;

export interface ShownSetting {
  name: SettingName;
  /** Empty if the setting has no value. */
  value: string;
}

/** In the order of `docs/settings.md`. */
export function describeSettings(config: ShownConfig): ShownSetting[] {
  const { gateway, jwt, keep, rateLimit, recheck, streams } = config;
  const values: [SettingName, string | number | boolean | readonly (string | number)[]][] = [
    ["BASE_PATH", config.basePath],
    ["PUBLIC_URL", config.publicUrl ?? ""],
    ["MERCHANT_NAME", config.merchant.name ?? ""],
    ["MERCHANT_COLOR", config.merchant.color ?? ""],
    ["MERCHANT_LOGO", config.merchant.logoFile ?? ""],
    ["MAIL_FROM", config.mail?.from ?? ""],
    ["ATTENTION_EMAIL", config.mail?.attentionTo ?? ""],
    ["RECEIPT_EMAILS", config.mail?.hasReceipts ?? false],
    ["DATABASE_POOL_SIZE", config.databasePoolSize],
    ["GATEWAY_ENV", gateway.environment],
    ["GATEWAY_BASE_URL", gateway.baseUrl],
    ["GATEWAY_MAX_IN_FLIGHT", gateway.maxInFlight],
    ["NOTIFICATION_CONFIRM", config.notificationConfirm],
    ["INVOICE_PAYMENTS", config.invoicePayments],
    ["QUEUE", config.queue],
    ["KEEP_JOBS_DAYS", keep.jobs],
    ["KEEP_NOTIFICATIONS_DAYS", keep.notifications],
    ["KEEP_KEYS_DAYS", keep.keys],
    ["KEEP_EVENTS_DAYS", keep.events],
    ["KEEP_AUDIT_DAYS", keep.audit],
    ["KEEP_RECONCILIATIONS_DAYS", keep.reconciliations],
    ["KEEP_HELD_DELIVERIES_DAYS", keep.deliveries],
    ["RECHECK_MINUTES", recheck.minutes],
    ["RECHECK_DAYS", recheck.days],
    ["RECHECK_CARD_DAYS", recheck.cardDays],
    ["RECHECK_PER_MINUTE", recheck.perMinute],
    ["WEBHOOK_ALLOW_PRIVATE", config.webhookAllowPrivate],
    ["LOG_GATEWAY", config.logGateway],
    ["AUTH_JWT_ISSUER", jwt?.issuer ?? ""],
    ["AUTH_JWT_AUDIENCE", jwt?.audience ?? ""],
    ["AUTH_STAFF_CLAIM", jwt?.staffClaim ?? ""],
    ["AUTH_VIEWER_CLAIM", jwt?.viewerClaim ?? ""],
    ["RATE_LIMIT_PER_SECOND", rateLimit.perSecond],
    ["RATE_LIMIT_BURST", rateLimit.burst],
    ["STREAMS_PER_CALLER", streams.perCaller],
    ["STREAMS_TOTAL", streams.total],
    ["SHARED_LIMITS", config.sharedLimits],
    ["BACKUP_TIME_FILE", config.backupTimeFile ?? ""],
    ["DRAIN_SECONDS", config.drainSeconds],
  ];
  return values.map(([name, value]) => ({
    name,
    value: Array.isArray(value) ? value.join(", ") : String(value),
  }));
}
