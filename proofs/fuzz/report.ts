/** Counts the answers of a run, and says what was found. Its size does not grow with the run. */

import { OPERATIONS } from "./document.ts";
import type { Answer, Finding, FindingKind } from "./judge.ts";
import type { Memory } from "./memory.ts";
import type { FuzzRequest } from "./requests.ts";
import { curlOf } from "./send.ts";

export interface FoundFinding extends Finding {
  operation: string;
  count: number;
  request: FuzzRequest;
}

/** At the same moment. */
export interface MemorySample {
  service: Memory;
  sandbox: Memory;
}

/** With these findings, the run has failed. */
const FAILURES: readonly FindingKind[] = [
  "error of the service",
  "undeclared answer",
  "schema violation",
  "security",
  "no answer",
];

const SLOW_MS = 2_000;
const MAX_SLOW = 20;
const MAX_FINDINGS = 200;
const MAX_FURTHER = 10_000;

/** What differs between two answers with the same fault. */
const VARIABLE = /[0-9a-f]{8}-[0-9a-f-]{27}|\d+|gk_\S+/g;

export class Report {
  readonly #statuses = new Map<string, Map<number, number>>();
  readonly #findings = new Map<string, FoundFinding>();
  readonly #times: Float32Array;
  readonly #memory: MemorySample[] = [];
  /** The keys of groups that are only counted. */
  readonly #further = new Set<string>();
  #hasFurtherFailure = false;
  #slow: { ms: number; request: FuzzRequest; status: number }[] = [];
  /** Faults that no single request has caused, such as records that contradict each other. */
  readonly faults: string[] = [];
  /** What may be a fault. */
  readonly notes: string[] = [];
  requests = 0;

  constructor(requests: number, readonly seed: number) {
    this.#times = new Float32Array(requests);
  }

  count(request: FuzzRequest, { status, ms }: Answer): void {
    const { id } = request.operation;
    const statuses = this.#statuses.get(id) ?? new Map<number, number>();
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    this.#statuses.set(id, statuses);
    this.#times[this.requests++] = ms;
    if (ms < SLOW_MS) return;
    this.#slow = [...this.#slow, { ms, request, status }]
      .toSorted((a, b) => b.ms - a.ms).slice(0, MAX_SLOW);
  }

  /** Adds a finding. Returns it if it is the first of its group. */
  add(request: FuzzRequest, finding: Finding): FoundFinding | null {
    const key = groupKey(request, finding);
    const known = this.#findings.get(key);
    if (known) known.count++;
    if (known) return null;
    if (this.#findings.size >= MAX_FINDINGS) {
      if (this.#further.size < MAX_FURTHER) this.#further.add(key);
      this.#hasFurtherFailure ||= FAILURES.includes(finding.kind);
      return null;
    }
    const found = { ...finding, operation: request.operation.id, count: 1, request };
    this.#findings.set(key, found);
    return found;
  }

  addMemory(memory: MemorySample): void {
    this.#memory.push(memory);
  }

  findings(): FoundFinding[] {
    return [...this.#findings.values()];
  }

  hasFailed(): boolean {
    return this.faults.length > 0 || this.#hasFurtherFailure ||
      this.findings().some(({ kind }) => FAILURES.includes(kind));
  }

  /** The operations that were never answered with success. */
  neverSucceeded(): string[] {
    return OPERATIONS.map(({ id }) => id).filter((id) =>
      ![...this.#statuses.get(id)?.keys() ?? []].some((status) => status >= 200 && status < 300)
    );
  }

  text(seconds: number): string {
    const never = this.neverSucceeded();
    return [
      "Answers by operation",
      ...OPERATIONS.map(({ id }) => `  ${id.padEnd(34)} ${this.#statusesOf(id)}`),
      "",
      ...this.findings().flatMap(describe),
      ...this.#furtherText(),
      ...this.faults.map((fault) => `FAULT  ${fault}`),
      ...this.notes.map((note) => `WARNING  ${note}`),
      ...never.map((id) => `WARNING  ${id} was never answered with success`),
      "",
      `${this.requests} requests in ${seconds.toFixed(0)} s, seed ${this.seed}`,
      this.#timesText(),
      ...this.#slow.map(({ ms, request, status }) =>
        `  ${(ms / 1_000).toFixed(1)} s  ${status}  ${curlOf(request)}`
      ),
      this.#memoryText(),
      ...this.#totals(),
    ].join("\n");
  }

  #furtherText(): string[] {
    const { size } = this.#further;
    if (size === 0) return [];
    return [`${size === MAX_FURTHER ? "at least " : ""}${size} further groups not shown`, ""];
  }

  #statusesOf(id: string): string {
    const statuses = [...this.#statuses.get(id) ?? []].toSorted(([a], [b]) => a - b);
    return statuses.map(([status, count]) => `${status || "none"}×${count}`).join("  ");
  }

  #timesText(): string {
    const times = this.#times.slice(0, this.requests).toSorted();
    const at = (share: number) => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(0);
    return `Time to answer: median ${at(0.5)} ms, 99 % within ${at(0.99)} ms, slowest ${at(1)} ms`;
  }

  #memoryText(): string {
    const third = Math.max(1, Math.floor(this.#memory.length / 3));
    const thirds = [
      this.#memory.slice(0, third),
      this.#memory.slice(third, -third),
      this.#memory.slice(-third),
    ].filter((samples) => samples.length > 0);
    const megabytes = (process: keyof MemorySample, kind: keyof Memory) =>
      thirds.map((samples) => {
        const sum = samples.reduce((total, each) => total + each[process][kind], 0);
        return Math.round(sum / samples.length / 1e6);
      }).join(", ");
    return [
      "Memory in the first, second and last third of the run, in MB, on average:",
      ...(["service", "sandbox"] as const).map((process) =>
        `  ${process}  ${megabytes(process, "used")} in use after garbage collections, ` +
        `${megabytes(process, "resident")} resident`
      ),
    ].join("\n");
  }

  #totals(): string[] {
    const kinds: FindingKind[] = [...FAILURES, "unavailable"];
    return kinds.map((kind) => {
      const found = this.findings().filter((finding) => finding.kind === kind);
      const count = found.reduce((sum, finding) => sum + finding.count, 0);
      return `${`${kind}:`.padEnd(22)} ${count}${
        found.length > 0 ? ` in ${found.length} groups` : ""
      }`;
    });
  }
}

/** Findings with the same key probably have the same cause: their texts differ only in values. */
export function groupKey({ operation }: FuzzRequest, { kind, message }: Finding): string {
  const [title, detail = ""] = message.split("\n");
  return [operation.id, kind, `${title}${detail}`.replaceAll(VARIABLE, "#")].join(" ");
}

function describe({ kind, message, operation, count, request }: FoundFinding): string[] {
  const lines = message.split("\n").map((line) => line.slice(0, 400)).slice(0, 6);
  return [
    `${kind.toUpperCase()}  ${operation}, ${count} times, first by request ${request.number}`,
    ...lines.map((line) => `  ${line}`),
    `  ${curlOf(request)}`,
    "",
  ];
}
