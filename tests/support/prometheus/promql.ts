/** Evaluates the part of Prometheus' query language that the alert rules use. */

export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** The series of one moment, by name. `at` is in seconds. */
export interface Scrape {
  at: number;
  series: { name: string; sample: Sample }[];
}

/** Reads the text format of Prometheus. */
export function parseMetrics(text: string): Scrape["series"] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)!;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    return {
      name: name!,
      sample: {
        labels: Object.fromEntries(pairs.map(([, key, text]) => [key!, text!])),
        value: Number(value!.replace("+Inf", "Infinity")),
      },
    };
  });
}

const TOKEN = /\s*(=~|==|>=|<=|[><=/(){},[\]]|"[^"]*"|\w+(?:\.\d+)?)/gy;

/** The result at the time of the last scrape. An alert fires if it is not empty. */
export function evaluate(expression: string, scrapes: Scrape[]): Sample[] {
  const tokens = [...expression.matchAll(TOKEN)].map(([, token]) => token!);
  if (tokens.join("") !== expression.replaceAll(/\s/g, "")) {
    throw new Error(`Unknown syntax: ${expression}`);
  }
  const now = scrapes.at(-1)!.at;
  let position = 0;
  const peek = () => tokens[position] ?? "";
  const next = () => tokens[position++] ?? "";
  function accept(token: string): boolean {
    if (peek() !== token) return false;
    position++;
    return true;
  }
  function expect(token: string): void {
    if (next() !== token) throw new Error(`Expected ${token} in ${expression}`);
  }

  function parseOr(): Sample[] {
    const left = parseAnd();
    if (!accept("or")) return left;
    const right = parseAnd();
    return [...left, ...right.filter((each) => !left.some((other) => hasSameLabels(each, other)))];
  }

  function parseAnd(): Sample[] {
    let left = parseComparison();
    while (accept("and")) {
      const right = parseComparison();
      left = left.filter((each) => right.some((other) => hasSameLabels(each, other)));
    }
    return left;
  }

  function parseComparison(): Sample[] {
    const left = parseDivision();
    const compare = COMPARISONS[peek()];
    if (!compare) return left;
    next();
    const limit = Number(next());
    return left.filter(({ value }) => compare(value, limit));
  }

  function parseDivision(): Sample[] {
    let left = parseOperand();
    while (accept("/")) {
      const right = parseOperand();
      left = left.flatMap((each) => {
        const divisor = right.find((other) => hasSameLabels(each, other));
        return divisor ? [{ ...each, value: each.value / divisor.value }] : [];
      });
    }
    return left;
  }

  function parseOperand(): Sample[] {
    if (accept("(")) return closed(parseOr());
    const name = next();
    if (name in AGGREGATIONS) {
      const labels = accept("by") ? parseLabels() : [];
      expect("(");
      return aggregate(closed(parseOr()), labels, AGGREGATIONS[name]!);
    }
    if (!accept("(")) return parseSelector(name).map(({ points }) => points.at(-1)!);
    switch (name) {
      case "rate":
      case "delta":
      case "increase": {
        const ranges = parseSelector(next());
        return closed(ranges.flatMap(({ points, seconds }) => {
          const [first, last] = [points[0]!, points.at(-1)!];
          if (points.length < 2) return [];
          const increase = last.value - first.value;
          return [{ ...last, value: name === "rate" ? increase / seconds : increase }];
        }));
      }
      case "max_over_time": {
        const ranges = parseSelector(next());
        return closed(ranges.map(({ points }) => ({
          ...points.at(-1)!,
          value: Math.max(...points.map(({ value }) => value)),
        })));
      }
      case "abs":
        return closed(parseOr()).map((each) => ({ ...each, value: Math.abs(each.value) }));
      case "absent":
        return closed(parseOr()).length > 0 ? [] : [{ labels: {}, value: 1 }];
      case "vector":
        return closed([{ labels: {}, value: Number(next()) }]);
      case "histogram_quantile": {
        const quantile = Number(next());
        expect(",");
        return quantiles(closed(parseOr()), quantile);
      }
    }
    throw new Error(`Unknown function: ${name}`);
  }

  function closed<T>(value: T): T {
    expect(")");
    return value;
  }

  function parseLabels(): string[] {
    expect("(");
    const labels: string[] = [];
    while (!accept(")")) {
      if (peek() !== ",") labels.push(next());
      else next();
    }
    return labels;
  }

  /** Each series with its values: the latest one, or those of a range such as `[5m]`. */
  function parseSelector(name: string): { points: Sample[]; seconds: number }[] {
    const matchers: ((labels: Sample["labels"]) => boolean)[] = [];
    if (accept("{")) {
      while (!accept("}")) {
        const [label, operator, text] = [next(), next(), JSON.parse(next()) as string];
        const pattern = operator === "=~" ? new RegExp(`^(?:${text})$`) : null;
        matchers.push((labels) =>
          pattern ? pattern.test(labels[label] ?? "") : (labels[label] ?? "") === text
        );
        accept(",");
      }
    }
    let seconds = 0;
    if (accept("[")) {
      const [, count, unit] = /^(\d+)([mh])$/.exec(next())!;
      seconds = Number(count) * (unit === "h" ? 3_600 : 60);
      expect("]");
    }
    const found = new Map<string, Sample[]>();
    for (const { series } of scrapes.filter(({ at }) => now - at <= seconds)) {
      for (const { name: each, sample } of series) {
        if (each !== name || !matchers.every((matches) => matches(sample.labels))) continue;
        const key = JSON.stringify(sample.labels);
        found.set(key, [...found.get(key) ?? [], sample]);
      }
    }
    return [...found.values()].map((points) => ({ points, seconds }));
  }

  const result = parseOr();
  if (position < tokens.length) throw new Error(`Unexpected ${peek()} in ${expression}`);
  return result;
}

const COMPARISONS: Record<string, (value: number, limit: number) => boolean> = {
  "==": (value, limit) => value === limit,
  ">": (value, limit) => value > limit,
};

const AGGREGATIONS: Record<string, (values: number[]) => number> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
};

function hasSameLabels(one: Sample, other: Sample): boolean {
  const text = ({ labels }: Sample) => JSON.stringify(Object.entries(labels).toSorted());
  return text(one) === text(other);
}

function aggregate(
  samples: Sample[],
  names: string[],
  combine: (values: number[]) => number,
): Sample[] {
  const labelsOf = ({ labels }: Sample) =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name] ?? ""])));
  return Object.entries(Object.groupBy(samples, labelsOf)).map(([labels, group]) => ({
    labels: JSON.parse(labels),
    value: combine(group!.map(({ value }) => value)),
  }));
}

/** The upper bound of the bucket that contains the quantile; Prometheus interpolates within it. */
function quantiles(buckets: Sample[], quantile: number): Sample[] {
  const others = ({ labels: { le: _, ...labels } }: Sample) => JSON.stringify(labels);
  return Object.entries(Object.groupBy(buckets, others)).flatMap(([labels, group]) => {
    const bound = ({ labels }: Sample) => Number(labels.le!.replace("+Inf", "Infinity"));
    const sorted = group!.toSorted((a, b) => bound(a) - bound(b));
    const found = sorted.find(({ value }) => value >= quantile * sorted.at(-1)!.value);
    return sorted.at(-1)!.value > 0 && found
      ? [{ labels: JSON.parse(labels), value: bound(found) }]
      : [];
  });
}
