/**
 * Refuses what cannot be an id before anything is sent: nothing, or dots alone, would make the
 * address of something else.
 */
export function demandIds(request: unknown): Promise<void> {
  const { path = {} } = request as { path?: Record<string, unknown> };
  for (const [name, id] of Object.entries(path)) {
    if (typeof id !== "string" || /^\.*$/.test(id)) {
      throw new TypeError(`${name} has to be an id, not ${JSON.stringify(id)}`);
    }
  }
  return Promise.resolve();
}
