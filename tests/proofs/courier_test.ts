import { createCourier } from "../../proofs/chaos/courier.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { freePort } from "../support/free_port.ts";

Deno.test("chaos courier: disposed, gives up a notification that no instance answers", async () => {
  const courier = createCourier({
    urls: [`http://127.0.0.1:${freePort()}`],
    random: createRandom(seededState(1)),
  });
  courier.stopFaults();
  const hook = { path: "/", headers: new Headers(), text: "", body: { order_id: "order-1" } };
  courier.accept(hook);
  await courier[Symbol.asyncDispose]();
  courier.accept(hook);
  await courier.untilDelivered();
});
