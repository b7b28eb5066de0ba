/** An invoice as the sandbox keeps it. */

import type { Stored } from "../world/table.ts";
import type { InvoiceRequest } from "./request.ts";

export interface Invoice extends Stored {
  orderId: string;
  status: InvoiceStatus;
  amount: number;
  dueAt: number;
  createdAt: number;
  paidAt: number | null;
  documentType: "invoice" | "quotation";
  convertedAt: number | null;
  voidReason: string | null;
  /** The request as it came, less what is computed; answers echo it. */
  request: InvoiceRequest;
  virtualAccounts: { name: string; bank: string; number: string }[];
}

export type InvoiceStatus =
  | "pending"
  | "published"
  | "overdue"
  | "paid"
  | "voided"
  | "rejected"
  | "canceled";
