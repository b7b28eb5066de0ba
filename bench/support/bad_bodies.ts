/** Random bodies of notifications, and signed bodies with changes. Some are still valid. */

import { settlement, sign, type SignedFields } from "./pending_payments.ts";

/** Returns a function that creates the next body. The same seed gives the same bodies. */
export function createBadBodies(seed: number, rows: number): () => Uint8Array<ArrayBuffer> {
  const random = createRandom(seed);
  const randomBelow = (end: number) => Math.floor(random() * end);
  const oneOf = <T>(choices: readonly T[]) => choices[randomBelow(choices.length)]!;

  const signedBody = () => settlement(1 + randomBelow(rows));
  const randomField = (body: object) => oneOf(Object.keys(body));

  /** A random JSON value, sometimes a very large one. */
  function randomValue(depth = 0): unknown {
    const kinds = [
      () => null,
      () => oneOf([true, false]),
      () => oneOf([0, -1, 1e308, 44_000, 0.1, 2 ** 53, randomBelow(1e9)]),
      () => oneOf(TEXTS),
      () => randomText(randomBelow(40)),
      () => randomText(randomBelow(2_000)),
      () => Array.from({ length: randomBelow(5) }, () => depth < 5 ? randomValue(depth + 1) : null),
      () =>
        Object.fromEntries(
          Array.from({ length: randomBelow(5) }, () => [
            oneOf([randomText(5), ...FIELDS]),
            depth < 5 ? randomValue(depth + 1) : null,
          ]),
        ),
    ];
    return oneOf(kinds)();
  }

  /** Includes control characters and lone surrogates. */
  function randomText(length: number): string {
    const end = oneOf([0x80, 0x3000, 0x10000]);
    return Array.from({ length }, () => String.fromCharCode(randomBelow(end))).join("");
  }

  function randomBytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => randomBelow(256));
  }

  function flipBits(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    for (let flips = 1 + randomBelow(3); flips > 0; flips--) {
      body[randomBelow(body.length)]! ^= 1 << randomBelow(8);
    }
    return body;
  }

  function replaceField(): object {
    const body = signedBody();
    return { ...body, [randomField(body)]: randomValue() };
  }

  /** Invalid values with a correct signature. */
  function changeAndSign(): object {
    const body = {
      ...signedBody(),
      [oneOf(SIGNED)]: randomText(randomBelow(60)),
    } as unknown as SignedFields;
    return { ...body, signature_key: sign(body) };
  }

  function dropField(): object {
    const body = signedBody();
    delete body[randomField(body)];
    return body;
  }

  const kinds: (() => Uint8Array<ArrayBuffer>)[] = [
    () => randomBytes(randomBelow(2_000)),
    () => encode(randomValue()),
    () => encode(replaceField()),
    () => encode(dropField()),
    () => encode(changeAndSign()),
    () => encode({ ...signedBody(), transaction_status: oneOf(STATUSES) }),
    () => flipBits(encode(signedBody())),
    () => encode(signedBody()).slice(0, randomBelow(900)),
    () => encoder.encode(JSON.stringify(signedBody()).repeat(2)),
    () => encoder.encode("[".repeat(randomBelow(5_000))),
    () => encoder.encode(`{"order_id":${JSON.stringify(signedBody())},${randomText(20)}`),
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

const TEXTS = ["", "44000.00", "200", "201", "settlement", "\0", "\ud800", "null", "' or 1=1 --"];

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
