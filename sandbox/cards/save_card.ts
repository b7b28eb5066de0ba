/** Keeps a card for later charges, under a token that stays. */

import type { World } from "../world/world.ts";
import type { Card } from "./card.ts";

export function saveCard(world: World, card: Omit<Card, "id" | "number">): Card {
  const [first, last] = card.masked.split("-");
  const id = `${first}${world.random.hex(20)}${last}`;
  return world.cards.put({ ...card, id, isSaved: true, expiresAt: null });
}
