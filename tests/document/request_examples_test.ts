import assert from "node:assert/strict";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { ACCEPTED_CARD, type Json, linkedAccount, savedCard } from "../support/gateway/sandbox.ts";

interface World extends TestPayments {
  /** Whether the request needs a staff key. */
  staff: string;
}

interface Case {
  /** The path for each example; by default the path of the operation. */
  prepare?: (world: World) => Promise<string[]>;
  /** Replaces made-up tokens in the example with tokens of the gateway. */
  inPlace?: (world: World, example: Json) => Promise<Json>;
  isForStaff?: boolean;
}

/** The amount that the examples refund or capture in total. */
const AMOUNT = { gross_amount: 150_000 };

/** Every operation with a body. */
const CASES: Record<string, Case> = {
  receiveNotification: {},
  createCharge: {
    // A card token can be used once, at the gateway that issued it.
    inPlace: async ({ sandbox }, example) =>
      example.token_id ? { ...example, token_id: await sandbox.token(ACCEPTED_CARD) } : example,
  },
  cancelPayment: {
    prepare: async (world) => [`/payments/${(await world.charge("bca")).id}/cancel/`],
  },
  expirePayment: {
    prepare: async (world) => [`/payments/${(await world.charge("bca")).id}/expire/`],
  },
  refundPayment: {
    prepare: async (world) => [`/payments/${(await world.paid("gopay", AMOUNT)).id}/refund/`],
  },
  capturePayment: {
    prepare: async (
      world,
    ) => [`/payments/${(await world.charge("card_auth", AMOUNT)).id}/capture/`],
  },
  createInvoice: {},
  voidInvoice: {
    prepare: async (world) => [`/invoices/${await made(world, "createInvoice")}/void/`],
  },
  createSubscription: {
    // Tokens of saved cards and linked accounts are issued by the gateway, too.
    async inPlace({ sandbox }, example) {
      if (example.payment_type === "credit_card") {
        return { ...example, token: await savedCard(sandbox) };
      }
      const { account_id, payment_option_token } = await linkedAccount(sandbox);
      return { ...example, token: payment_option_token, gopay_account_id: account_id };
    },
  },
  changeSubscription: {
    async prepare(world) {
      const id = await made(world, "createSubscription");
      return ["disable", "enable", "cancel"].map((action) => `/subscriptions/${id}/${action}/`);
    },
  },
  createWebhookEndpoint: { isForStaff: true },
  updateWebhookEndpoint: {
    isForStaff: true,
    prepare: async (world) => [`/webhook-endpoints/${await made(world, "createWebhookEndpoint")}/`],
  },
};

interface Operation {
  id: string;
  method: string;
  path: string;
  examples: [name: string, value: Json][];
}

/** The operations of the document with a body. */
function operationsOf({ app }: World): Operation[] {
  const { paths, components }: Json = JSON.parse(JSON.stringify(app.document()));
  return Object.entries<Json>(paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).filter(([, { requestBody }]) => requestBody)
      .map(([method, { operationId, requestBody }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        path,
        examples: Object.entries<Json>(requestBody.content["application/json"].examples)
          .map(([name, each]): [string, Json] => {
            const shared = components.examples[each.$ref?.split("/").at(-1)];
            return [name, (shared ?? each).value];
          }),
      }))
  );
}

/** The id of the resource that the first example of an operation creates. */
async function made(world: World, id: string): Promise<string> {
  const operation = operationsOf(world).find((each) => each.id === id)!;
  const answer = await send(world, operation, operation.path, operation.examples[0]![1]);
  return (await answer.json()).id;
}

async function send(
  world: World,
  { id, method }: Operation,
  path: string,
  example: Json,
): Promise<Response> {
  const { inPlace = (_, example) => example, isForStaff } = CASES[id]!;
  return await world.app.as(isForStaff ? world.staff : world.key, path, {
    method,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(await inPlace(world, example)),
  });
}

/** By how many seconds the clocks of the app and the gateway are ahead. */
async function openWorld(ahead: number): Promise<World> {
  const payments = await openPayments({ now: () => Date.now() + ahead * 1_000 });
  await payments.sandbox.advance(ahead);
  return { ...payments, staff: await payments.app.createKey({ userId: "ops", isStaff: true }) };
}

const TEN_YEARS = 10 * 365 * 86_400;

// Future dates in examples must stay in the future for years, because readers copy them.
for (const [when, ahead] of [["today", 0], ["in ten years", TEN_YEARS]] as const) {
  Deno.test(`document examples: the service accepts every request, ${when}`, async () => {
    await using world = await openWorld(ahead);
    const operations = operationsOf(world);
    assert.deepEqual(operations.map(({ id }) => id).sort(), Object.keys(CASES).sort());
    for (const operation of operations) {
      const { id, path, examples } = operation;
      assert.ok(examples.length > 0, id);
      for (const [name, example] of examples) {
        for (const target of await CASES[id]!.prepare?.(world) ?? [path]) {
          const answer = await send(world, operation, target, example);
          assert.ok(answer.ok, `${id}, ${name}: ${answer.status} ${await answer.text()}`);
        }
      }
    }
  });
}
