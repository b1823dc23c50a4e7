/**
 * The JSON reports of `polykind prove`, `check` and `rehearse`. Fields that are missing count as empty.
 *
 * Each part of a report is a table of its fields, with the function that reads each field. Its type follows from the table.
 */
import { isList, isMap, type Json, type JsonMap } from "./json";

type Reader<T> = (value: Json | undefined) => T;
type Readers = Record<string, Reader<unknown>>;
type Part<T extends Readers> = { [Name in keyof T]: ReturnType<T[Name]> };

const text = (value: Json | undefined): string => (typeof value === "string" ? value : value === undefined || value === null ? "" : String(value));
const textOrNull = (value: Json | undefined): string | null => (typeof value === "string" ? value : null);
const number = (value: Json | undefined): number => (typeof value === "number" ? value : 0);
const flag = (value: Json | undefined): boolean => value === true;
const map = (value: Json | undefined): JsonMap | null => (isMap(value) ? value : null);
/** A value that may be missing, which is not the same as null. */
const optional = (value: Json | undefined): Json | undefined => value;
const listOf = <T>(read: (item: Json) => T) => (value: Json | undefined): T[] => (isList(value) ? value.map(read) : []);
const texts = listOf(text);
const maps = (value: Json | undefined): JsonMap[] => (isList(value) ? value.filter(isMap) : []);

function part<T extends Readers>(readers: T, value: JsonMap): Part<T> {
  return Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, read(value[name])])) as Part<T>;
}

const partsOf = <T extends Readers>(readers: T): Reader<Part<T>[]> => (value) => maps(value).map((item) => part(readers, item));

const DIFFERENCE = { path: text, kind: text, before: optional, after: optional };
export type FieldDifference = Part<typeof DIFFERENCE>;

const RESULT = {
  property: text,
  from: text,
  to: text,
  ok: flag,
  said: text,
  object: map,
  converted: map,
  returned: map,
  differences: partsOf(DIFFERENCE),
  way: texts,
  advice: text,
  repeat: text,
  raised: text,
  edit: (value: Json | undefined): FieldDifference | null => (isMap(value) ? part(DIFFERENCE, value) : null),
};
export type PropertyResult = Part<typeof RESULT>;

/** `acknowledged` is the reason for which the author accepts the loss, or null. */
const LOSS = { from: text, to: text, path: text, kind: text, count: number, acknowledged: textOrNull };

const PROOF = {
  definition: text,
  ok: flag,
  interrupted: flag,
  seed: number,
  tested: number,
  seconds: number,
  results: partsOf(RESULT),
  losses: partsOf(LOSS),
};
export type ProofReport = Part<typeof PROOF> & { kind: "prove"; remarks: string[] };

const CHECK_FINDING = {
  finding: text,
  severity: text,
  crd: text,
  version: text,
  path: text,
  message: text,
  meaning: text,
  advice: text,
  file: text,
  line: text,
  accepted: text,
};
export type CheckFinding = Part<typeof CHECK_FINDING>;

const EFFECTS = { objects: number, groups: partsOf({ effect: text, version: text, path: text, count: number, examples: texts }) };
export type ObjectEffects = Part<typeof EFFECTS> & { crd: string };

export interface CheckReport {
  kind: "check";
  counts: Record<string, number>;
  findings: CheckFinding[];
  objects: ObjectEffects[];
}

const REHEARSAL_FINDING = {
  phase: text,
  level: text,
  text,
  object: text,
  client: text,
  version: text,
  field: text,
  advice: text,
  before: optional,
  after: optional,
};
/** `count` is the number of findings that differ only in their objects and values. */
export type RehearsalFinding = Part<typeof REHEARSAL_FINDING> & { count: number };

const STEP = {
  release: text,
  direction: text,
  versions: texts,
  objects: number,
  stuck: flag,
  phases: partsOf({ name: text, text, seconds: number }),
  findings: (value: Json | undefined): RehearsalFinding[] => groupFindings(partsOf(REHEARSAL_FINDING)(value)),
};
export type RehearsalStep = Part<typeof STEP>;

const REHEARSAL = { ok: flag, steps: partsOf(STEP) };
export type RehearsalReport = Part<typeof REHEARSAL> & { kind: "rehearse" };

export type Report = ProofReport | CheckReport | RehearsalReport;

/** Read a report. Throw an Error that says what is wrong with the text. */
export function readReport(content: string): Report {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new Error("The file is not JSON. Run the command with --json.");
  }
  if (isMap(value)) {
    if (isList(value["results"]) && "definition" in value) return readProof(value);
    if (isList(value["findings"]) && isMap(value["counts"])) return readCheck(value);
    if (isList(value["steps"])) return { kind: "rehearse", ...part(REHEARSAL, value) };
  }
  throw new Error("The file is not a report of polykind prove, check or rehearse.");
}

function readProof(value: JsonMap): ProofReport {
  const remarks = [...texts(value["health"]), ...maps(value["remarks"]).map((remark) => text(remark["message"]))];
  return { kind: "prove", ...part(PROOF, value), remarks };
}

function readCheck(value: JsonMap): CheckReport {
  return {
    kind: "check",
    counts: Object.fromEntries(Object.entries(map(value["counts"]) ?? {}).map(([name, each]) => [name, number(each)])),
    findings: partsOf(CHECK_FINDING)(value["findings"]),
    objects: Object.entries(map(value["objects"]) ?? {}).flatMap(([crd, effects]) => (isMap(effects) ? [{ crd, ...part(EFFECTS, effects) }] : [])),
  };
}

const SEVERITIES = ["breaking", "dangerous", "info"];

/** Return the findings of a check in groups of the same meaning: they differ only in their fields and versions. The worst come first. */
export function groupsOf(report: CheckReport): CheckFinding[][] {
  const groups = new Map<string, CheckFinding[]>();
  for (const finding of report.findings) {
    const key = JSON.stringify([finding.finding, finding.severity, finding.crd, finding.meaning, finding.advice, finding.accepted]);
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  const rank = ([first]: CheckFinding[]): number => (first!.accepted ? SEVERITIES.length : SEVERITIES.indexOf(first!.severity));
  return [...groups.values()].sort((one, other) => rank(one) - rank(other));
}

/** Return the first of all findings that differ only in their objects and values, each with their number. */
function groupFindings(findings: readonly Omit<RehearsalFinding, "count">[]): RehearsalFinding[] {
  const groups = new Map<string, RehearsalFinding>();
  for (const finding of findings) {
    const { field, before, after } = finding;
    const subject = field ? `${field.replace(/\[\d+\]/g, "[*]")} ${before !== undefined} ${after !== undefined}` : finding.text;
    const key = JSON.stringify([finding.phase, finding.level, finding.client, finding.version, subject]);
    const known = groups.get(key);
    if (known) known.count += 1;
    else groups.set(key, { ...finding, count: 1 });
  }
  return [...groups.values()];
}

/** Return the pairs of versions of a proof, in the order of its results. */
export function pairsOf(report: ProofReport): [string, string][] {
  const pairs = new Map(report.results.map(({ from, to }) => [`${from} ${to}`, [from, to] as [string, string]]));
  return [...pairs.values()];
}

/** Return the names of the properties of a proof, in the order of its results. */
export const propertiesOf = (report: ProofReport): string[] => [...new Set(report.results.map((result) => result.property))];
