import assert from "node:assert/strict";
import { PUBLIC_URL } from "../support/checkouts/checkouts.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import {
  ACCEPTED_CARD,
  CHALLENGED_CARD,
  type Json,
  linkedAccount,
  savedCard,
} from "../support/gateway/sandbox.ts";

interface Setup extends TestPayments {
  /** A staff key. */
  staff: string;
}

interface Case {
  /** Creates a resource; returns the paths to send an example to. Default: the operation's path. */
  prepare?: (setup: Setup) => Promise<string[]>;
  /** Replaces made-up tokens in the example with tokens of the gateway. */
  insertTokens?: (setup: Setup, example: Json) => Promise<Json>;
  /** Whether the request needs a staff key. */
  isForStaff?: boolean;
}

/** The amount that the examples refund or capture in total. */
const AMOUNT = { gross_amount: 150_000 };

/** How to send the examples of each operation that has a request body. */
const CASES: Record<string, Case> = {
  receiveNotification: {},
  createCharge: {
    // A card token can be used only once, and only at the gateway that issued it.
    insertTokens: async ({ sandbox }, example) =>
      example.token_id ? { ...example, token_id: await sandbox.token(ACCEPTED_CARD) } : example,
  },
  cancelPayment: {
    prepare: async (setup) => [`/payments/${(await setup.charge("bca")).id}/cancel/`],
  },
  expirePayment: {
    prepare: async (setup) => [`/payments/${(await setup.charge("bca")).id}/expire/`],
  },
  refundPayment: {
    prepare: async (setup) => [`/payments/${(await setup.paid("gopay", AMOUNT)).id}/refund/`],
  },
  capturePayment: {
    prepare: async (
      setup,
    ) => [`/payments/${(await setup.charge("card_auth", AMOUNT)).id}/capture/`],
  },
  approvePayment: {
    isForStaff: true,
    prepare: async (setup) => [`/reviews/${await chargeChallenged(setup)}/approve/`],
  },
  denyPayment: {
    isForStaff: true,
    prepare: async (setup) => [`/reviews/${await chargeChallenged(setup)}/deny/`],
  },
  markRefundDenied: {
    isForStaff: true,
    prepare: async (setup) => [`/refunds/${await refundAtBank(setup)}/mark-denied/`],
  },
  createKey: { isForStaff: true },
  createCheckout: {},
  cancelCheckout: {
    prepare: async (
      setup,
    ) => [`/checkouts/${await createFromExample(setup, "createCheckout")}/cancel/`],
  },
  createInvoice: {},
  voidInvoice: {
    prepare: async (
      setup,
    ) => [`/invoices/${await createFromExample(setup, "createInvoice")}/void/`],
  },
  createSubscription: {
    // The gateway accepts only tokens of saved cards and linked accounts that it issued.
    async insertTokens({ sandbox }, example) {
      if (example.payment_type === "credit_card") {
        return { ...example, token: await savedCard(sandbox) };
      }
      const { account_id, payment_option_token } = await linkedAccount(sandbox);
      return { ...example, token: payment_option_token, gopay_account_id: account_id };
    },
  },
  updateSubscription: {
    prepare: async (
      setup,
    ) => [`/subscriptions/${await createFromExample(setup, "createSubscription")}/`],
    insertTokens: async ({ sandbox }, example) => ({ ...example, token: await savedCard(sandbox) }),
  },
  changeSubscription: {
    async prepare(setup) {
      const id = await createFromExample(setup, "createSubscription");
      return ["disable", "enable", "cancel"].map((action) => `/subscriptions/${id}/${action}/`);
    },
  },
  createReconciliation: { isForStaff: true },
  createWebhookEndpoint: { isForStaff: true },
  updateWebhookEndpoint: {
    isForStaff: true,
    prepare: async (
      setup,
    ) => [`/webhook-endpoints/${await createFromExample(setup, "createWebhookEndpoint")}/`],
  },
};

/** Charges a card that fraud detection challenges, and returns the payment's id. */
async function chargeChallenged({ charge, sandbox }: Setup): Promise<string> {
  const { id } = await charge("card", { token_id: await sandbox.token(CHALLENGED_CARD) });
  return id;
}

/** A refund that the gateway has accepted, and the bank has not made yet. */
async function refundAtBank({ paid, post, sandbox }: Setup): Promise<string> {
  const { id } = await paid("gopay");
  await sandbox.fault("refund", "bank_pending");
  return (await (await post(`/payments/${id}/refund/`, {})).json()).refund.id;
}

interface Operation {
  id: string;
  method: string;
  path: string;
  /** The content type of the request. */
  type: string;
  examples: [name: string, value: Json][];
}

/** The operations of the document that have a request body. */
function operationsOf({ app }: Setup): Operation[] {
  const { paths, components }: Json = JSON.parse(JSON.stringify(app.document()));
  return Object.entries<Json>(paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).filter(([, { requestBody }]) => requestBody)
      .map(([method, { operationId, requestBody }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        path,
        type: Object.keys(requestBody.content)[0]!,
        examples: Object.values<Json>(requestBody.content).flatMap(({ examples }) =>
          Object.entries<Json>(examples)
        )
          .map(([name, each]): [string, Json] => {
            const shared = components.examples[each.$ref?.split("/").at(-1)];
            return [name, (shared ?? each).value];
          }),
      }))
  );
}

/** Sends the first example of an operation, and returns the id of the created resource. */
async function createFromExample(setup: Setup, id: string): Promise<string> {
  const operation = operationsOf(setup).find((operation) => operation.id === id)!;
  const answer = await send(setup, operation, operation.path, operation.examples[0]![1]);
  return (await answer.json()).id;
}

async function send(
  setup: Setup,
  { id, method, type }: Operation,
  path: string,
  example: Json,
): Promise<Response> {
  const { insertTokens = (_, example) => example, isForStaff } = CASES[id]!;
  return await setup.app.as(isForStaff ? setup.staff : setup.key, path, {
    method,
    headers: { "Content-Type": type },
    body: type === "application/json"
      ? JSON.stringify(await insertTokens(setup, example))
      : example as unknown as string,
  });
}

/** Opens the app and the gateway with clocks that are this many seconds ahead. */
async function openSetup(aheadSeconds: number): Promise<Setup> {
  const payments = await openPayments({
    now: () => Date.now() + aheadSeconds * 1_000,
    env: { PUBLIC_URL },
  });
  await payments.sandbox.advance(aheadSeconds);
  return { ...payments, staff: await payments.app.createKey({ userId: "ops", isStaff: true }) };
}

const TEN_YEARS = 10 * 365 * 86_400;

// Future dates in examples must stay in the future for years, because readers copy them.
for (const [when, aheadSeconds] of [["today", 0], ["in ten years", TEN_YEARS]] as const) {
  Deno.test(`document examples: the service accepts every request, ${when}`, async () => {
    await using setup = await openSetup(aheadSeconds);
    const operations = operationsOf(setup);
    assert.deepEqual(operations.map(({ id }) => id).sort(), Object.keys(CASES).sort());
    for (const operation of operations) {
      const { id, path, examples } = operation;
      assert.ok(examples.length > 0, id);
      for (const [name, example] of examples) {
        for (const target of await CASES[id]!.prepare?.(setup) ?? [path]) {
          const answer = await send(setup, operation, target, example);
          assert.ok(answer.ok, `${id}, ${name}: ${answer.status} ${await answer.text()}`);
        }
      }
    }
  });
}

Deno.test("request examples: each has a response example of the same name, by which tools pair them", async () => {
  const document: Json = JSON.parse(
    await Deno.readTextFile(new URL("../../openapi/openapi.json", import.meta.url)),
  );
  const resolve = ({ $ref, ...rest }: Json): Json =>
    $ref
      ? $ref.split("/").slice(1).reduce((part: Json, name: string) => part[name], document)
      : rest;
  const namesIn = (part: Json): string[] =>
    Object.values<Json>(resolve(part).content ?? {}).flatMap(({ examples = {} }) =>
      Object.keys(examples)
    );
  let count = 0;
  for (const operations of Object.values<Json>(document.paths)) {
    for (const { operationId, requestBody = {}, responses } of Object.values<Json>(operations)) {
      const answered = Object.entries<Json>(responses)
        .flatMap(([status, response]) => status.startsWith("2") ? namesIn(response) : []);
      for (const name of namesIn(requestBody)) {
        assert.ok(answered.includes(name), `${operationId}: ${name} has no response example`);
        count++;
      }
    }
  }
  assert.ok(count > 30, `${count} request examples`);
});
