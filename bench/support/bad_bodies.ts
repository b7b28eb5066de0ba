/** Invalid bodies of notifications: random ones, and signed ones that were changed. */

import { settlement, sign, type Signed } from "./pending_payments.ts";

/** The same seed gives the same bodies. */
export function createBadBodies(seed: number, rows: number): () => Uint8Array<ArrayBuffer> {
  const random = createRandom(seed);
  const below = (end: number) => Math.floor(random() * end);
  const oneOf = <T>(choices: readonly T[]) => choices[below(choices.length)]!;

  const signed = () => settlement(1 + below(rows));
  const oneField = (body: object) => oneOf(Object.keys(body));

  /** A random JSON value, sometimes a very large one. */
  function anything(depth = 0): unknown {
    const kinds = [
      () => null,
      () => oneOf([true, false]),
      () => oneOf([0, -1, 1e308, 44_000, 0.1, 2 ** 53, below(1e9)]),
      () => oneOf(WORDS),
      () => text(below(40)),
      () => text(below(2_000)),
      () => Array.from({ length: below(5) }, () => depth < 5 ? anything(depth + 1) : null),
      () =>
        Object.fromEntries(
          Array.from({ length: below(5) }, () => [
            oneOf([text(5), ...FIELDS]),
            depth < 5 ? anything(depth + 1) : null,
          ]),
        ),
    ];
    return oneOf(kinds)();
  }

  /** Includes control characters and lone surrogates. */
  function text(length: number): string {
    const end = oneOf([0x80, 0x3000, 0x10000]);
    return Array.from({ length }, () => String.fromCharCode(below(end))).join("");
  }

  function bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => below(256));
  }

  function flipBits(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    for (let flips = 1 + below(3); flips > 0; flips--) {
      body[below(body.length)]! ^= 1 << below(8);
    }
    return body;
  }

  function replaceField(): object {
    const body = signed();
    return { ...body, [oneField(body)]: anything() };
  }

  /** Invalid values with a correct signature. */
  function resign(): object {
    const body = { ...signed(), [oneOf(SIGNED)]: text(below(60)) } as unknown as Signed;
    return { ...body, signature_key: sign(body) };
  }

  function dropField(): object {
    const body = signed();
    delete body[oneField(body)];
    return body;
  }

  const kinds: (() => Uint8Array<ArrayBuffer>)[] = [
    () => bytes(below(2_000)),
    () => encode(anything()),
    () => encode(replaceField()),
    () => encode(dropField()),
    () => encode(resign()),
    () => encode({ ...signed(), transaction_status: oneOf(STATUSES) }),
    () => flipBits(encode(signed())),
    () => encode(signed()).slice(0, below(900)),
    () => encoder.encode(JSON.stringify(signed()).repeat(2)),
    () => encoder.encode("[".repeat(below(5_000))),
    () => encoder.encode(`{"order_id":${JSON.stringify(signed())},${text(20)}`),
  ];
  return () => oneOf(kinds)();
}

const SIGNED = ["order_id", "status_code", "gross_amount"] as const;

const FIELDS = [...Object.keys(settlement(1)), "__proto__", "constructor", "refunds", "metadata"];

const STATUSES = [
  "pending",
  "SETTLEMENT",
  "capture",
  "authorize",
  "deny",
  "cancel",
  "expire",
  "refund",
  "partial_refund",
  "chargeback",
  "unknown-status",
];

const WORDS = ["", "44000.00", "200", "201", "settlement", "\0", "\ud800", "null", "' or 1=1 --"];

const encoder = new TextEncoder();

function encode(value: unknown): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify(value));
}

/** Mulberry32: pseudo-random numbers from 0 to 1. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = state + 0x6d2b79f5 | 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}
