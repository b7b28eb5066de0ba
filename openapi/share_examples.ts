/** Says once in the document what several operations show as an example. */

interface Shown {
  paths?: unknown;
  webhooks?: unknown;
  components?: { examples?: Record<string, object> };
}

type Named = Record<string, object>;

/** What is there twice, under one name and the same, moves to the components. */
export function shareExamples(document: Shown): void {
  const bodies = [...bodiesIn([document.paths, document.webhooks])];
  const times = Map.groupBy(
    bodies.flatMap(({ examples }) => Object.entries(examples)),
    (entry) => JSON.stringify(entry),
  );
  const shared: Named = {};
  const share = ([name, example]: [string, object]) => {
    const isShared = !("$ref" in example) && times.get(JSON.stringify([name, example]))!.length > 1;
    if (!isShared) return [name, example];
    if (shared[name] && JSON.stringify(shared[name]) !== JSON.stringify(example)) {
      throw new Error(`Two examples that are not the same are called ${name}`);
    }
    shared[name] = example;
    return [name, { $ref: `#/components/examples/${name}` }];
  };
  for (const body of bodies) {
    body.examples = Object.fromEntries(Object.entries(body.examples).map(share));
  }
  document.components = {
    ...document.components,
    examples: { ...document.components?.examples, ...shared },
  };
}

/** Every body that has examples, wherever it is. */
function* bodiesIn(value: unknown): Generator<{ examples: Named }> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (name !== "content") yield* bodiesIn(member);
    else yield* Object.values<{ examples: Named }>(member).filter(({ examples }) => examples);
  }
}
