/** The texts of the page of payments. */

/** The filters. */
type Label =
  | "q"
  | "from"
  | "to"
  | "settled_from"
  | "settled_to"
  | "min_amount"
  | "max_amount"
  | "order_id"
  | "transaction_id"
  | "va_number"
  | "customer_email"
  | "customer_phone"
  | "fraud_status"
  | "user_id"
  | "invoice_id"
  | "subscription_id"
  | "outcome"
  | "owner"
  | "status"
  | "payment_type";

type Column =
  | "amount"
  | "refunded"
  | "net"
  | "status"
  | "fraud"
  | "order"
  | "customer"
  | "name"
  | "method"
  | "created"
  | "settled"
  | "user"
  | "id";

export interface PaymentsWords {
  filters: string;
  columns: string;
  amountHelp: string;
  outcomeUnknown: string;
  noOwner: string;
  labels: Record<Label, string>;
  columnNames: Record<Column, string>;
  fraudStatuses: Record<string, string>;
}

export const PAYMENTS_IN_ENGLISH: PaymentsWords = {
  filters: "Filters and columns",
  columns: "Columns",
  amountHelp: "To filter by amount, also choose a period of at most 31 days, or a customer.",
  outcomeUnknown: "Not known",
  noOwner: "None, paid in the last 30 days",
  labels: {
    q: "Search",
    from: "Created from",
    to: "Created until",
    settled_from: "Settled from",
    settled_to: "Settled until",
    min_amount: "Amount from (Rp)",
    max_amount: "Amount to (Rp)",
    order_id: "Order id",
    transaction_id: "Transaction id",
    va_number: "Virtual account",
    customer_email: "Email",
    customer_phone: "Phone",
    fraud_status: "Fraud check",
    user_id: "User",
    invoice_id: "Invoice id",
    subscription_id: "Subscription id",
    outcome: "Outcome",
    owner: "Owner",
    status: "Status",
    payment_type: "Method",
  },
  columnNames: {
    amount: "Amount",
    refunded: "Refunded",
    net: "Net",
    status: "Status",
    fraud: "Fraud check",
    order: "Order",
    customer: "Customer",
    name: "Name",
    method: "Method",
    created: "Created",
    settled: "Settled",
    user: "User",
    id: "ID",
  },
  fraudStatuses: { accept: "Accepted", challenge: "Challenged", deny: "Denied" },
};

export const PAYMENTS_IN_INDONESIAN: PaymentsWords = {
  filters: "Filter dan kolom",
  columns: "Kolom",
  amountHelp: "Untuk memfilter jumlah, pilih juga periode maksimal 31 hari, atau satu pelanggan.",
  outcomeUnknown: "Belum diketahui",
  noOwner: "Tidak ada, lunas dalam 30 hari terakhir",
  labels: {
    q: "Cari",
    from: "Dibuat dari",
    to: "Dibuat sampai",
    settled_from: "Settlement dari",
    settled_to: "Settlement sampai",
    min_amount: "Jumlah dari (Rp)",
    max_amount: "Jumlah sampai (Rp)",
    order_id: "ID pesanan",
    transaction_id: "ID transaksi",
    va_number: "Virtual account",
    customer_email: "Email",
    customer_phone: "Telepon",
    fraud_status: "Deteksi penipuan",
    user_id: "Pengguna",
    invoice_id: "ID invoice",
    subscription_id: "ID langganan",
    outcome: "Hasil",
    owner: "Pemilik",
    status: "Status",
    payment_type: "Metode",
  },
  columnNames: {
    amount: "Jumlah",
    refunded: "Dikembalikan",
    net: "Neto",
    status: "Status",
    fraud: "Deteksi penipuan",
    order: "Pesanan",
    customer: "Pelanggan",
    name: "Nama",
    method: "Metode",
    created: "Dibuat",
    settled: "Settlement",
    user: "Pengguna",
    id: "ID",
  },
  fraudStatuses: { accept: "Diterima", challenge: "Dicurigai", deny: "Ditolak" },
};
