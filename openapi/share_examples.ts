/** Moves examples that several operations share into the components of the document. */

interface DocumentParts {
  paths?: unknown;
  webhooks?: unknown;
  components?: { examples?: Record<string, object> };
}

type NamedExamples = Record<string, object>;

/** Only examples with the same name and the same value are shared. */
export function shareExamples(document: DocumentParts): void {
  const bodies = [...bodiesIn([document.paths, document.webhooks])];
  const occurrences = Map.groupBy(
    bodies.flatMap(({ examples }) => Object.entries(examples)),
    (entry) => JSON.stringify(entry),
  );
  const shared: NamedExamples = {};
  const share = ([name, example]: [string, object]) => {
    const isShared = !("$ref" in example) &&
      occurrences.get(JSON.stringify([name, example]))!.length > 1;
    if (!isShared) return [name, example];
    if (shared[name] && JSON.stringify(shared[name]) !== JSON.stringify(example)) {
      throw new Error(`Two different examples are named ${name}`);
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

/** Finds every request and response body with examples. */
function* bodiesIn(value: unknown): Generator<{ examples: NamedExamples }> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (name !== "content") yield* bodiesIn(member);
    else {yield* Object.values<{ examples: NamedExamples }>(member).filter(({ examples }) =>
        examples
      );}
  }
}
