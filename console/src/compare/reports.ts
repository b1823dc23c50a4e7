/** The JSON reports of `polykind prove`, `check` and `rehearse`. Fields that are missing count as empty. */
import { isList, isMap, type Json, type JsonMap } from "./json";

export interface FieldDifference {
  path: string;
  kind: string;
  before?: Json;
  after?: Json;
}

export interface PropertyResult {
  property: string;
  from: string;
  to: string;
  ok: boolean;
  said: string;
  object: JsonMap | null;
  converted: JsonMap | null;
  returned: JsonMap | null;
  differences: FieldDifference[];
  way: string[];
  advice: string;
  repeat: string;
  raised: string;
  edit: FieldDifference | null;
}

export interface Loss {
  from: string;
  to: string;
  path: string;
  kind: string;
  count: number;
  /** The reason for which the author accepts the loss, or null. */
  acknowledged: string | null;
}

export interface ProofReport {
  kind: "prove";
  definition: string;
  ok: boolean;
  interrupted: boolean;
  seed: number;
  tested: number;
  seconds: number;
  results: PropertyResult[];
  losses: Loss[];
  remarks: string[];
}

export interface CheckFinding {
  finding: string;
  severity: string;
  crd: string;
  version: string;
  path: string;
  message: string;
  meaning: string;
  advice: string;
  position: string;
  accepted: string;
}

export interface ObjectEffects {
  crd: string;
  objects: number;
  groups: { effect: string; version: string; path: string; count: number; examples: string[] }[];
}

export interface CheckReport {
  kind: "check";
  counts: Record<string, number>;
  findings: CheckFinding[];
  objects: ObjectEffects[];
}

export interface RehearsalFinding {
  phase: string;
  level: string;
  text: string;
  object: string;
  client: string;
  version: string;
  field: string;
  advice: string;
  before?: Json;
  after?: Json;
  /** The number of findings that differ only in their objects and values. */
  count: number;
}

export interface RehearsalStep {
  release: string;
  back: boolean;
  versions: string[];
  objects: number;
  stuck: boolean;
  ok: boolean;
  phases: { name: string; text: string; seconds: number }[];
  findings: RehearsalFinding[];
}

export interface RehearsalReport {
  kind: "rehearse";
  ok: boolean;
  steps: RehearsalStep[];
}

export type Report = ProofReport | CheckReport | RehearsalReport;

const text = (value: Json | undefined): string => (typeof value === "string" ? value : value === undefined || value === null ? "" : String(value));
const number = (value: Json | undefined): number => (typeof value === "number" ? value : 0);
const map = (value: Json | undefined): JsonMap | null => (isMap(value) ? value : null);
const maps = (value: Json | undefined): JsonMap[] => (isList(value) ? value.filter(isMap) : []);
const texts = (value: Json | undefined): string[] => (isList(value) ? value.map(text) : []);

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
    if (isList(value["steps"])) return readRehearsal(value);
  }
  throw new Error("The file is not a report of polykind prove, check or rehearse.");
}

function difference(value: JsonMap): FieldDifference {
  return { path: text(value["path"]), kind: text(value["kind"]), ...("before" in value && { before: value["before"]! }), ...("after" in value && { after: value["after"]! }) };
}

function readProof(value: JsonMap): ProofReport {
  return {
    kind: "prove",
    definition: text(value["definition"]),
    ok: value["ok"] === true,
    interrupted: value["interrupted"] === true,
    seed: number(value["seed"]),
    tested: number(value["tested"]),
    seconds: number(value["seconds"]),
    results: maps(value["results"]).map((result) => ({
      property: text(result["property"]),
      from: text(result["from"]),
      to: text(result["to"]),
      ok: result["ok"] === true,
      said: text(result["said"]),
      object: map(result["object"]),
      converted: map(result["converted"]),
      returned: map(result["returned"]),
      differences: maps(result["differences"]).map(difference),
      way: texts(result["way"]),
      advice: text(result["advice"]),
      repeat: text(result["repeat"]),
      raised: text(result["raised"]),
      edit: isMap(result["edit"]) ? difference(result["edit"]) : null,
    })),
    losses: maps(value["losses"]).map((loss) => ({
      from: text(loss["from"]),
      to: text(loss["to"]),
      path: text(loss["path"]),
      kind: text(loss["kind"]),
      count: number(loss["count"]),
      acknowledged: typeof loss["acknowledged"] === "string" ? loss["acknowledged"] : null,
    })),
    remarks: [...texts(value["health"]), ...maps(value["remarks"]).map((remark) => text(remark["message"]))],
  };
}

function readCheck(value: JsonMap): CheckReport {
  const counts = Object.fromEntries(Object.entries(map(value["counts"]) ?? {}).map(([name, each]) => [name, number(each)]));
  return {
    kind: "check",
    counts,
    findings: maps(value["findings"]).map((finding) => ({
      finding: text(finding["finding"]),
      severity: text(finding["severity"]),
      crd: text(finding["crd"]),
      version: text(finding["version"]),
      path: text(finding["path"]),
      message: text(finding["message"]),
      meaning: text(finding["meaning"]),
      advice: text(finding["advice"]),
      position: finding["file"] ? `${text(finding["file"])}:${text(finding["line"])}` : "",
      accepted: text(finding["accepted"]),
    })),
    objects: Object.entries(map(value["objects"]) ?? {}).flatMap(([crd, totals]) =>
      isMap(totals)
        ? [
            {
              crd,
              objects: number(totals["objects"]),
              groups: maps(totals["groups"]).map((group) => ({
                effect: text(group["effect"]),
                version: text(group["version"]),
                path: text(group["path"]),
                count: number(group["count"]),
                examples: texts(group["examples"]),
              })),
            },
          ]
        : [],
    ),
  };
}

function readRehearsal(value: JsonMap): RehearsalReport {
  return {
    kind: "rehearse",
    ok: value["ok"] === true,
    steps: maps(value["steps"]).map((step) => ({
      release: text(step["release"]),
      back: step["direction"] === "back",
      versions: texts(step["versions"]),
      objects: number(step["objects"]),
      stuck: step["stuck"] === true,
      ok: step["ok"] === true,
      phases: maps(step["phases"]).map((phase) => ({ name: text(phase["name"]), text: text(phase["text"]), seconds: number(phase["seconds"]) })),
      findings: groupFindings(maps(step["findings"])),
    })),
  };
}

/** Return the first of all findings that differ only in their objects and values, each with their number. */
function groupFindings(findings: readonly JsonMap[]): RehearsalFinding[] {
  const groups = new Map<string, RehearsalFinding>();
  for (const each of findings) {
    const finding: RehearsalFinding = {
      phase: text(each["phase"]),
      level: text(each["level"]),
      text: text(each["text"]),
      object: text(each["object"]),
      client: text(each["client"]),
      version: text(each["version"]),
      field: text(each["field"]),
      advice: text(each["advice"]),
      ...("before" in each && { before: each["before"]! }),
      ...("after" in each && { after: each["after"]! }),
      count: 1,
    };
    const subject = finding.field ? `${finding.field.replace(/\[\d+\]/g, "[*]")} ${"before" in each} ${"after" in each}` : finding.text;
    const key = JSON.stringify([finding.phase, finding.level, finding.client, finding.version, subject]);
    const known = groups.get(key);
    if (known) known.count += 1;
    else groups.set(key, finding);
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
