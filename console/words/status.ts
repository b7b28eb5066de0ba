/** The texts of the page of the status. */

export interface StatusWords {
  title: string;
  service: string;
  version: string;
  started: string;
  clock: string;
  accurate: string;
  inaccurate: string;
  clockOffset: string;
  loopDelay: string;
  rejected: string;
  takeover: string;
  leases: Record<"lock" | "time", string>;
  gateway: string;
  gatewayStates: Record<"ok" | "recovering" | "down", string>;
  reads: string;
  writes: string;
  environment: string;
  address: string;
  database: string;
  schema: string;
  pendingMigrations: string;
  connections: string;
  poolUse: (used: number, size: number) => string;
  queue: string;
  transport: string;
  onTime: string;
  what: string;
  count: string;
  oldest: string;
  age: (seconds: number) => string;
  backlog: {
    title: string;
    jobs: string;
    events: string;
    subscribers: string;
    webhooks: string;
    disabledEndpoints: string;
    notifications: string;
    failedNotifications: string;
    unknownPayments: string;
    unknownInvoices: string;
    unknownSubscriptions: string;
    unrecognized: string;
  };
  failures: string;
  settings: string;
  settingsHelp: string;
}

export const STATUS_IN_ENGLISH: StatusWords = {
  title: "Status",
  service: "Service",
  version: "Version",
  started: "Started",
  clock: "Clock",
  accurate: "Accurate",
  inaccurate: "Wrong",
  clockOffset: "Clock difference",
  loopDelay: "Event loop delay",
  rejected: "Requests rejected under load",
  takeover: "If it crashes",
  leases: {
    lock: "others take over at once",
    time: "others take over after up to 90 seconds",
  },
  gateway: "Gateway",
  gatewayStates: { ok: "OK", recovering: "Recovering", down: "Down" },
  reads: "Status requests",
  writes: "Charges and changes",
  environment: "Environment",
  address: "Address",
  database: "Database",
  schema: "Newest migration",
  pendingMigrations: "Migrations to apply",
  connections: "Connections",
  poolUse: (used, size) => `${used} of ${size} in use`,
  queue: "Jobs",
  transport: "Queue",
  onTime: "On time",
  what: "What",
  count: "Count",
  oldest: "Oldest",
  age: (seconds) => seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`,
  backlog: {
    title: "Waiting and open",
    jobs: "Jobs that wait for a worker",
    events: "Events that lists do not show yet",
    subscribers: "Events for subscribers in the process",
    webhooks: "Webhook deliveries",
    disabledEndpoints: "Disabled webhook endpoints",
    notifications: "Notifications to be checked",
    failedNotifications: "Notifications that were not confirmed",
    unknownPayments: "Payments with unknown outcome",
    unknownInvoices: "Invoices with unknown outcome",
    unknownSubscriptions: "Subscriptions with unknown outcome",
    unrecognized: "Payments with a new gateway status",
  },
  failures: "Last failed jobs",
  settings: "Settings",
  settingsHelp: "Secrets are not shown. The guide on settings describes each of them.",
};

export const STATUS_IN_INDONESIAN: StatusWords = {
  title: "Keadaan",
  service: "Layanan",
  version: "Versi",
  started: "Dimulai",
  clock: "Jam",
  accurate: "Tepat",
  inaccurate: "Salah",
  clockOffset: "Selisih jam",
  loopDelay: "Jeda event loop",
  rejected: "Permintaan yang ditolak saat beban tinggi",
  takeover: "Jika mati mendadak",
  leases: {
    lock: "instance lain langsung mengambil alih",
    time: "instance lain mengambil alih setelah paling lama 90 detik",
  },
  gateway: "Gateway",
  gatewayStates: { ok: "Baik", recovering: "Sedang pulih", down: "Tidak tersedia" },
  reads: "Permintaan status",
  writes: "Penagihan dan perubahan",
  environment: "Lingkungan",
  address: "Alamat",
  database: "Basis data",
  schema: "Migrasi terbaru",
  pendingMigrations: "Migrasi yang belum diterapkan",
  connections: "Koneksi",
  poolUse: (used, size) => `${used} dari ${size} dipakai`,
  queue: "Pekerjaan",
  transport: "Antrean",
  onTime: "Tepat waktu",
  what: "Apa",
  count: "Banyaknya",
  oldest: "Tertua",
  age: (seconds) => seconds < 120 ? `${seconds} dtk` : `${Math.round(seconds / 60)} mnt`,
  backlog: {
    title: "Menunggu dan terbuka",
    jobs: "Pekerjaan yang menunggu",
    events: "Event yang belum tampil di daftar",
    subscribers: "Event untuk pelanggan di dalam proses",
    webhooks: "Pengiriman webhook",
    disabledEndpoints: "Endpoint webhook nonaktif",
    notifications: "Notifikasi yang harus diperiksa",
    failedNotifications: "Notifikasi yang tidak dikonfirmasi",
    unknownPayments: "Pembayaran dengan hasil belum diketahui",
    unknownInvoices: "Tagihan dengan hasil belum diketahui",
    unknownSubscriptions: "Langganan dengan hasil belum diketahui",
    unrecognized: "Pembayaran dengan status gateway baru",
  },
  failures: "Pekerjaan yang terakhir gagal",
  settings: "Pengaturan",
  settingsHelp: "Secret tidak ditampilkan. Panduan pengaturan menjelaskan masing-masing.",
};
