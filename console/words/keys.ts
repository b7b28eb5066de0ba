/** The texts of the page of API keys. */

export const KEYS_IN_ENGLISH = {
  /** What the user's order ids begin with. */
  orderPrefix: "Order id prefix",
  /** The title of the page after a form that was sent before. */
  alreadyCreated: "This key was already created",
  /** The prefix is the part of the key that is not secret. */
  created: (prefix: string) =>
    `This form was sent before and created the key ${prefix}…. No second key was created.`,
  secretGone:
    "The key itself was shown only once and is not stored. If you do not have it, revoke it and create " +
    "another one.",
  revokeIt: "Revoke this key",
  formUsed:
    "This form has already created a key, and nothing was done now. To create another key, check what " +
    "is entered here and send it again.",
};

export const KEYS_IN_INDONESIAN: typeof KEYS_IN_ENGLISH = {
  orderPrefix: "Awalan ID pesanan",
  alreadyCreated: "Key ini sudah dibuat",
  created: (prefix) =>
    `Formulir ini sudah pernah dikirim dan telah membuat key ${prefix}…. Key kedua tidak dibuat.`,
  secretGone:
    "Key hanya ditampilkan sekali dan tidak disimpan. Jika Anda tidak memilikinya, cabut key ini lalu " +
    "buat yang baru.",
  revokeIt: "Cabut key ini",
  formUsed:
    "Formulir ini sudah membuat sebuah key, dan sekarang tidak ada yang dilakukan. Untuk membuat key " +
    "lain, periksa isian di sini lalu kirim lagi.",
};
