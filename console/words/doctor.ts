/** The texts of the doctor's page. The English findings are those of the command. */

import type { CheckStatus } from "../../core/doctor/check_result.ts";
import { type DoctorTexts, ENGLISH_TEXTS } from "../../core/doctor/render.ts";

export const DOCTOR_IN_ENGLISH = {
  title: "Doctor",
  help:
    "Examines settings, database, gateway, the way from outside to this service, and the work " +
    "in the background. It sends a test notification to PUBLIC_URL and a test event to each " +
    "webhook endpoint. It takes up to a minute.",
  run: "Run all checks",
  results: "Results",
  check: "Check",
  result: "Result",
  found: "Found, and next step",
  statuses: {
    ok: "OK",
    warning: "Warning",
    fault: "Fault",
    not_tested: "Not tested",
  } satisfies Record<CheckStatus, string>,
  texts: ENGLISH_TEXTS,
};

const INDONESIAN_TEXTS: DoctorTexts = {
  checks: {
    settings: "Pengaturan",
    keys: "Key gateway",
    database: "Basis data",
    privileges: "Hak akses basis data",
    pooling: "Connection pooler",
    search: "Pencarian",
    replication: "Replikasi",
    writes: "Penulisan basis data",
    account: "Akun gateway",
    gateway: "Gateway",
    methods: "Metode pembayaran",
    clock: "Jam",
    public_url: "PUBLIC_URL",
    notification: "Notifikasi",
    body_size: "Notifikasi besar",
    stream: "Event stream",
    dashboard_url: "URL notifikasi di dasbor",
    webhooks: "Endpoint webhook",
    jobs: "Pekerjaan",
    crons: "Jadwal",
    publisher: "Publikasi event",
    disk: "Ruang disk",
    backup: "Cadangan terakhir",
  },
  findings: {
    blocked: { found: "Tidak dijalankan, karena pemeriksaan ini belum OK: {check}.", next: null },
    check_failed: {
      found: "Pemeriksaan itu sendiri gagal: {problem}.",
      next: "Jalankan Doctor lagi. Jika tetap gagal, laporkan teks ini.",
    },
    settings_ok: { found: "Semua pengaturan valid.", next: null },
    settings_wrong: {
      found: "{problem}",
      next: "Perbaiki pengaturan, lalu mulai ulang layanan (docs/settings.md).",
    },
    keys_embedded: { found: "Sandbox di mesin ini dipakai. Tidak ada uang sungguhan.", next: null },
    keys_ok: {
      found: "GATEWAY_ENV adalah {environment}, dan key serta {host} tidak bertentangan.",
      next: null,
    },
    keys_wrong_host: {
      found: "GATEWAY_ENV adalah {environment}, tetapi GATEWAY_BASE_URL menuju {host}.",
      next: "Hapus GATEWAY_BASE_URL, atau isi dengan host lingkungan itu.",
    },
    keys_mixed: {
      found: "Salah satu dari GATEWAY_SERVER_KEY dan GATEWAY_CLIENT_KEY adalah key sandbox, " +
        "sedangkan yang lain bukan.",
      next: "Salin kedua key dari halaman dasbor gateway yang sama.",
    },
    database_ok: {
      found: "PostgreSQL {version} merespons dan memiliki semua migrasi.",
      next: null,
    },
    database_unreachable: {
      found: "Basis data tidak dapat dipakai: {problem}.",
      next: "Pastikan PostgreSQL berjalan, dan host ini boleh terhubung dengan DATABASE_URL.",
    },
    database_old: {
      found: "Server adalah PostgreSQL {version}.",
      next: "Tingkatkan ke PostgreSQL 15 atau lebih baru.",
    },
    database_pending: {
      found: "{count} migrasi belum diterapkan.",
      next: "Jalankan layanan, atau jalankan `deno task migrate`.",
    },
    privileges_ok: { found: "Peran ini boleh membaca dan mengubah semua tabel.", next: null },
    privileges_missing: {
      found: "Peran ini tidak boleh membaca dan mengubah: {tables}.",
      next: "Berikan select, insert, update dan delete pada semua tabel skema gateway.",
    },
    pooling_none: { found: "Koneksi langsung menuju server tanpa pooler.", next: null },
    pooling_used: {
      found: "Koneksi melalui pooler dalam mode {mode}, yang didukung layanan.",
      next: null,
    },
    pooling_unknown: { found: "Layanan tidak dapat melihat apakah pooler dipakai.", next: null },
    search_ok: {
      found: "Pembayaran ditemukan dengan bagian mana pun dari ID pesanan, email, dan nama.",
      next: null,
    },
    search_by_prefix: {
      found: "Ekstensi pg_trgm tidak dapat dipakai, sehingga pembayaran lama hanya ditemukan " +
        "dengan awal ID pesanan, email, dan nama.",
      next: "Minta administrator menjalankan `create extension pg_trgm` di basis data ini, lalu " +
        "jalankan `deno task migrate` sebagai peran pemilik skema, atau mulai ulang layanan.",
    },
    replication_ok: {
      found: "Server adalah primary. Standby yang terhubung: {standbys}.",
      next: null,
    },
    replication_standby: {
      found: "Server adalah standby, yang tidak menerima penulisan.",
      next: "Isi DATABASE_URL dengan alamat yang selalu menuju primary.",
    },
    writes_ok: { found: "Basis data menerima penulisan.", next: null },
    writes_refused: {
      found: "Basis data tidak menerima penulisan: {problem}.",
      next: "Periksa default_transaction_read_only, disk penuh, atau failover yang berlangsung.",
    },
    account_ok: { found: "Basis data milik {environment}, merchant {merchant}.", next: null },
    account_unbound: {
      found: "Basis data belum terikat pada akun gateway.",
      next: "Jalankan layanan. Layanan akan mengikat basis data ke akun.",
    },
    account_other: {
      found: "Basis data milik {stored}, tetapi pengaturan untuk {environment}.",
      next: "Pakai pengaturan lingkungan itu, atau basis data lain (`deno task account`).",
    },
    gateway_ok: { found: "{host} merespons dan menerima server key.", next: null },
    gateway_unreachable: {
      found: "{host} tidak merespons: {problem}.",
      next: "Izinkan koneksi dari host ini ke sana (port 443), dan periksa jaringan serta DNS.",
    },
    gateway_key_refused: {
      found: "{host} merespons, dan menolak server key (401).",
      next: "Salin ulang GATEWAY_SERVER_KEY dari dasbor, di lingkungan GATEWAY_ENV.",
    },
    gateway_error: {
      found: "{host} merespons dengan kesalahan: {problem}.",
      next: "Jika tetap begitu, tanyakan ke dukungan gateway apakah alamat host ini diizinkan.",
    },
    methods_ok: { found: "Akun memiliki: {methods}.", next: null },
    methods_none: {
      found: "Akun tidak memiliki metode pembayaran aktif.",
      next: "Aktifkan metode pembayaran di dasbor gateway.",
    },
    methods_unknown: {
      found: "Gateway tidak memberi tahu metode apa yang dimiliki akun: {problem}.",
      next: "Lihat metode pembayaran di dasbor gateway.",
    },
    clock_ok: { found: "Jam host ini, basis data dan gateway sama.", next: null },
    clock_without_gateway: {
      found: "Jam host ini dan basis data sama. Jam gateway tidak diketahui.",
      next: null,
    },
    clock_database: {
      found: "Jam basis data berbeda {seconds} detik dari jam gateway.",
      next: "Sinkronkan jam server basis data, misalnya dengan NTP.",
    },
    clock_host: {
      found: "Jam host ini berbeda {seconds} detik dari jam basis data.",
      next: "Sinkronkan jam host ini, misalnya dengan NTP.",
    },
    public_url_missing: {
      found: "PUBLIC_URL tidak diisi, jadi gateway mengirim notifikasi ke URL di dasbornya.",
      next: "Isi PUBLIC_URL dengan alamat tempat gateway mencapai layanan ini.",
    },
    public_url_local: {
      found: "PUBLIC_URL adalah alamat mesin ini, yang tidak dapat dicapai gateway.",
      next: "Isi PUBLIC_URL dengan alamat https publik.",
    },
    public_url_unresolved: {
      found: "Nama {host} tidak dapat di-resolve dari host ini.",
      next: "Periksa record DNS, juga dari jaringan lain: gateway membutuhkannya.",
    },
    public_url_unreachable: {
      found: "Host ini tidak dapat terhubung ke {host}: {problem}.",
      next: "Banyak jaringan tidak membiarkan host mencapai alamat publiknya sendiri. Jalankan " +
        "Doctor, atau buka {url}, dari jaringan lain.",
    },
    public_url_ok: { found: "{url} menuju layanan ini, tanpa pengalihan.", next: null },
    certificate: {
      found: "Sertifikat {host} tidak valid: {problem}.",
      next:
        "Perbarui atau perbaiki sertifikat proxy. Proxy juga harus mengirim sertifikat perantara.",
    },
    redirect: {
      found: "{url} dialihkan ke {location} (status {status}). Gateway tidak mengikutinya.",
      next:
        "Isi PUBLIC_URL dengan alamat akhir, dan jangan alihkan jalur apa pun di bawahnya pada proxy.",
    },
    wrong_path: {
      found: "{url} merespons 404: proxy tidak meneruskan jalur ini, atau mengubahnya.",
      next: "Bandingkan PUBLIC_URL, BASE_PATH dan jalur di pengaturan proxy.",
    },
    refused: {
      found: "{url} ditolak dengan status {status}, oleh proxy atau firewall.",
      next: "Izinkan permintaan tanpa kredensial dari alamat mana pun ke jalur ini.",
    },
    proxy_error: {
      found: "{url} merespons status {status}: proxy tidak mencapai layanan.",
      next: "Pastikan layanan berjalan, dan periksa alamat tujuan proxy.",
    },
    other_service: {
      found: "{url} merespons status {status}, tetapi bukan seperti layanan ini.",
      next: "Pastikan PUBLIC_URL dan proxy menuju layanan ini.",
    },
    notification_ok: {
      found: "Notifikasi bertanda tangan tiba di basis data ini, dengan semua header.",
      next: null,
    },
    notification_signature: {
      found: "Layanan di {url} menolak tanda tangan: server key-nya lain.",
      next: "Pastikan PUBLIC_URL menuju layanan ini, dan mulai ulang dengan pengaturan ini.",
    },
    notification_elsewhere: {
      found: "Notifikasi diterima di {url}, tetapi tidak ada di basis data ini.",
      next: "PUBLIC_URL menuju instalasi lain. Perbaiki itu, atau tujuan proxy.",
    },
    headers_lost: {
      found: "Proxy menghapus atau mengubah header ini: {headers}.",
      next: "Atur proxy agar meneruskan semua header permintaan.",
    },
    body_ok: { found: "Notifikasi sebesar {size} KiB tiba dengan lengkap.", next: null },
    body_limit: {
      found: "Notifikasi sebesar {size} KiB tidak sampai ke layanan ({problem}).",
      next: "Naikkan batas proxy, untuk nginx: client_max_body_size 1m.",
    },
    stream_ok: { found: "Event stream mengirim data tanpa jeda.", next: null },
    stream_buffered: {
      found: "Event stream terbuka, tetapi tidak ada yang tiba: proxy menahannya (buffering).",
      next: "Matikan buffering, untuk nginx: proxy_buffering off.",
    },
    stream_unauthorized: {
      found: "Event stream menolak API key: proxy menghapus header Authorization.",
      next: "Atur proxy agar meneruskan header Authorization.",
    },
    dashboard_unused: { found: "Tidak ada yang memerlukan URL di dasbor.", next: null },
    dashboard_used: {
      found: "Gateway mengirim notifikasi untuk ini ke URL di dasbornya: {uses}.",
      next: "Bandingkan URL notifikasi payment, recurring dan account di dasbor dengan {url}.",
    },
    webhooks_none: { found: "Tidak ada endpoint webhook.", next: null },
    webhooks_ok: { found: "Semua {count} endpoint aktif menerima event uji.", next: null },
    webhooks_failing: {
      found: "Endpoint yang tidak menerima event uji: {endpoints}.",
      next: "Periksa penerimanya, lalu kirim event uji di menu Webhook pada konsol.",
    },
    webhooks_disabled: {
      found:
        "Layanan menonaktifkan {count} endpoint karena gagal selama 24 jam atau merespons 410.",
      next: "Perbaiki penerimanya, dan aktifkan di menu Webhook pada konsol.",
    },
    jobs_ok: { found: "Tidak ada pekerjaan yang menunggu, dan tidak ada yang gagal.", next: null },
    jobs_waiting: {
      found: "Sebuah pekerjaan menunggu worker selama {minutes} menit.",
      next: "Pastikan layanan berjalan, dan cari kesalahan di lognya.",
    },
    jobs_failed: {
      found: "Pekerjaan yang gagal: {count}.",
      next: "Lihat di menu Pekerjaan pada konsol, perbaiki sebabnya, dan ulangi.",
    },
    crons_ok: { found: "Semua tugas terjadwal berjalan tepat waktu.", next: null },
    crons_never: {
      found: "Belum ada tugas terjadwal yang berjalan.",
      next: "Jalankan layanan, tunggu dua menit, dan jalankan Doctor lagi.",
    },
    crons_overdue: {
      found: "Tugas terjadwal tidak berjalan: {tasks}.",
      next: "Pastikan sebuah instance berjalan, dan cari tick_failed di lognya.",
    },
    crons_failed: {
      found: "Eksekusi terakhir tugas ini gagal: {tasks}.",
      next: "Baca kesalahannya di menu Pekerjaan, Jadwal pada konsol, dan perbaiki sebabnya.",
    },
    publisher_ok: { found: "Tidak ada event yang menunggu dipublikasikan.", next: null },
    publisher_behind: {
      found: "Event menunggu dipublikasikan selama {seconds} detik.",
      next: "Pastikan layanan berjalan, dan cari event_publisher_failed di lognya.",
    },
    disk_ok: { found: "{free} GiB tersedia untuk basis data tertanam.", next: null },
    disk_low: {
      found: "Hanya {free} GiB tersedia untuk basis data tertanam.",
      next: "Kosongkan ruang, atau pindahkan DATA_DIR ke disk yang lebih besar.",
    },
    disk_unknown: {
      found: "Disk server basis data tidak terlihat dari sini.",
      next: "Pantau ruang kosongnya dengan alat server itu.",
    },
    backup_ok: { found: "Cadangan terakhir berumur {hours} jam.", next: null },
    backup_old: {
      found: "Cadangan terakhir berumur {hours} jam.",
      next: "Jalankan pencadangan, dan cari tahu mengapa tidak berjalan.",
    },
    backup_missing: {
      found: "Berkas BACKUP_TIME_FILE tidak ada atau tidak dapat dibaca.",
      next: "Atur agar setiap pencadangan memperbarui waktu berkas ini (touch) setelah berhasil.",
    },
    backup_unknown: {
      found: "BACKUP_TIME_FILE tidak diisi, jadi waktu cadangan terakhir tidak diketahui.",
      next:
        "Isi dengan berkas yang waktunya diperbarui (touch) oleh setiap pencadangan yang berhasil.",
    },
  },
};

export const DOCTOR_IN_INDONESIAN: typeof DOCTOR_IN_ENGLISH = {
  title: "Doctor",
  help:
    "Memeriksa pengaturan, basis data, gateway, akses dari luar ke layanan ini, dan pekerjaan " +
    "di latar belakang. Doctor mengirim notifikasi uji ke PUBLIC_URL dan event uji ke setiap " +
    "endpoint webhook. Ini memakan waktu hingga satu menit.",
  run: "Jalankan semua pemeriksaan",
  results: "Hasil",
  check: "Pemeriksaan",
  result: "Hasil",
  found: "Temuan, dan langkah berikutnya",
  statuses: {
    ok: "OK",
    warning: "Peringatan",
    fault: "Gangguan",
    not_tested: "Tidak diuji",
  },
  texts: INDONESIAN_TEXTS,
};
