/** Differences between two structural schemas as a tree of fields, with the consequence of each for clients. */
import { inline, isList, isMap, joinPath, type Json, type JsonMap } from "./json";
import { sameValue } from "../objects/field_path";
import { similarity } from "./similarity";

/** `breaking`: values that were valid are rejected, or data is lost. `dangerous`: values decide. `harmless`: neither. */
export type Severity = "breaking" | "dangerous" | "harmless";

export interface Change {
  severity: Severity;
  /** A short name, such as `type changed` or `limit tightened`. */
  kind: string;
  text: string;
  /** What a release with this change does to objects and clients. */
  consequence?: string;
}

export interface SchemaNode {
  path: string;
  name: string;
  /** `added` and `removed` stand for the whole field; `present` fields have changes or changed fields below. */
  state: "added" | "removed" | "present";
  type: string;
  description: string;
  changes: Change[];
  children: SchemaNode[];
}

type Schema = JsonMap;
const EMPTY: Schema = {};
const LOWER = ["minimum", "minLength", "minItems", "minProperties"];
const UPPER = ["maximum", "maxLength", "maxItems", "maxProperties"];
const COMBINATIONS = ["allOf", "anyOf", "oneOf", "not"];
const PRESERVE = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING = "x-kubernetes-int-or-string";
const META = ["apiVersion", "kind", "metadata"];
const ORDER: readonly Severity[] = ["breaking", "dangerous", "harmless"];

const schemaOf = (value: Json | undefined): Schema | undefined => (isMap(value) ? value : undefined);

export function typeName(schema: Schema): string {
  if (schema[INT_OR_STRING]) return "int-or-string";
  const type = typeof schema["type"] === "string" && schema["type"] ? schema["type"] : "any";
  const items = schemaOf(schema["items"]);
  if (type === "array" && items) return `list of ${typeName(items)}`;
  const values = schemaOf(schema["additionalProperties"]);
  return values ? `map of ${typeName(values)}` : type;
}

/** Return the fields that differ between two schemas. Equal parts are left out. */
export function diffSchemas(before: Schema, after: Schema): SchemaNode[] {
  const root = compare("", "", before, after, true);
  const nodes = root ? (root.changes.length ? [{ ...root, name: "(the object)" }] : root.children) : [];
  return withMoves(nodes);
}

function compare(path: string, name: string, before: Schema, after: Schema, root: boolean): SchemaNode | null {
  const changes = keywordChanges(before, after);
  const children: SchemaNode[] = [];
  const [old, fresh] = [schemaOf(before["properties"]) ?? EMPTY, schemaOf(after["properties"]) ?? EMPTY];
  const required = [names(before), names(after)] as const;
  for (const key of [...Object.keys(fresh), ...Object.keys(old).filter((each) => !(each in fresh))]) {
    if (root && META.includes(key)) continue;
    const child = compareField(joinPath(path, key), key, schemaOf(old[key]), schemaOf(fresh[key]), after, required[1].includes(key));
    const became = requiredChange(key, required, schemaOf(old[key]), schemaOf(fresh[key]));
    if (child && became) child.changes.unshift(became);
    if (child) children.push(child);
    else if (became) children.push({ ...plainNode(joinPath(path, key), key, schemaOf(fresh[key])!), changes: [became] });
  }
  for (const [keyword, step, label] of [["items", "[*]", "each item"], ["additionalProperties", ".*", "each value"]] as const) {
    const [one, other] = [schemaOf(before[keyword]), schemaOf(after[keyword])];
    if (!one && !other) continue;
    if (keyword === "items" && before["type"] !== after["type"]) continue;
    const child = compareField(`${path}${step}`, label, one, other, after);
    if (child) children.push(child);
  }
  if (!changes.length && !children.length) return null;
  return { ...plainNode(path, name, after), changes, children };
}

function compareField(path: string, name: string, before: Schema | undefined, after: Schema | undefined, parent: Schema, required = false): SchemaNode | null {
  if (before && after) return compare(path, name, before, after, false);
  if (after) {
    const rejected = required && after["default"] === undefined;
    const change: Change = { severity: rejected ? "breaking" : "harmless", kind: "field added", text: describe(after, required) };
    if (rejected) change.consequence = "objects without it are rejected";
    return { ...plainNode(path, name, after), state: "added", changes: [change] };
  }
  if (!before) return null;
  const change: Change = parent[PRESERVE]
    ? { severity: "dangerous", kind: "field removed", text: describe(before), consequence: "values are kept, but no longer validated" }
    : { severity: "breaking", kind: "field removed", text: describe(before), consequence: "the server prunes its values" };
  return { ...plainNode(path, name, before), state: "removed", changes: [change] };
}

function plainNode(path: string, name: string, schema: Schema): SchemaNode {
  const description = typeof schema["description"] === "string" ? schema["description"] : "";
  return { path, name, state: "present", type: typeName(schema), description, changes: [], children: [] };
}

function describe(schema: Schema, required = false): string {
  const words = [typeName(schema), ...(required ? ["required"] : [])];
  for (const keyword of ["enum", "default", "format"]) {
    if (schema[keyword] !== undefined) words.push(`${keyword} ${show(schema[keyword])}`);
  }
  return words.join(", ");
}

const names = (schema: Schema): readonly Json[] => (isList(schema["required"]) ? schema["required"] : []);

function requiredChange(
  key: string,
  [old, fresh]: readonly [readonly Json[], readonly Json[]],
  before: Schema | undefined,
  after: Schema | undefined,
): Change | null {
  if (!before || !after || old.includes(key) === fresh.includes(key)) return null;
  if (old.includes(key)) return { severity: "harmless", kind: "became optional", text: "" };
  if (after["default"] !== undefined) return { severity: "harmless", kind: "became required", text: "", consequence: "its default fills it in" };
  return { severity: "breaking", kind: "became required", text: "", consequence: "objects without it are rejected" };
}

function keywordChanges(before: Schema, after: Schema): Change[] {
  const out: Change[] = [];
  const add = (severity: Severity, kind: string, text: string): number => out.push({ severity, kind, text });
  const differs = (keyword: string): boolean => !sameValue(before[keyword] ?? null, after[keyword] ?? null);
  if (typeName({ ...before, items: null }) !== typeName({ ...after, items: null })) {
    const widened = !after["type"] && !after[INT_OR_STRING] && before["type"] !== undefined;
    const wider = widened || (before["type"] === "integer" && (after["type"] === "number" || after[INT_OR_STRING] === true)) || (before["type"] === "string" && after[INT_OR_STRING] === true);
    add(wider ? "harmless" : "breaking", wider ? "type widened" : "type changed", `${typeName(before)} to ${typeName(after)}`);
  }
  if (differs("enum")) enumChange(before["enum"], after["enum"], add);
  if (differs("default")) defaultChange(before["default"], after["default"], add);
  for (const keyword of [...LOWER, ...UPPER]) {
    if (!differs(keyword)) continue;
    const [old, fresh] = [before[keyword], after[keyword]];
    const tighter = fresh != null && (old == null || (LOWER.includes(keyword) ? Number(fresh) > Number(old) : Number(fresh) < Number(old)));
    add(tighter ? "breaking" : "harmless", tighter ? "limit tightened" : "limit loosened", `${keyword}: ${show(old)} to ${show(fresh)}`);
  }
  for (const keyword of ["exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems"]) {
    if (!differs(keyword)) continue;
    const tighter = Boolean(after[keyword]);
    add(tighter ? "breaking" : "harmless", tighter ? "limit tightened" : "limit loosened", `${keyword}: ${show(before[keyword])} to ${show(after[keyword])}`);
  }
  for (const keyword of ["pattern", "format"]) {
    if (!differs(keyword)) continue;
    const [old, fresh] = [before[keyword], after[keyword]];
    if (fresh == null) add("harmless", `${keyword} removed`, show(old));
    else if (old == null) add("breaking", `${keyword} added`, show(fresh));
    else add("dangerous", `${keyword} changed`, `${show(old)} to ${show(fresh)}`);
  }
  if (Boolean(before["nullable"]) !== Boolean(after["nullable"])) {
    if (after["nullable"]) add("harmless", "nullable", "null is allowed now");
    else add("breaking", "not nullable", "null is rejected or dropped now");
  }
  for (const keyword of COMBINATIONS) {
    if (!differs(keyword)) continue;
    add(after[keyword] == null ? "harmless" : "dangerous", `${keyword} changed`, "values may be accepted or rejected in another way");
  }
  extensionChanges(before, after, add);
  ruleChanges(before, after, add);
  return out.sort((one, other) => ORDER.indexOf(one.severity) - ORDER.indexOf(other.severity));
}

type Add = (severity: Severity, kind: string, text: string) => number;

function enumChange(before: Json | undefined, after: Json | undefined, add: Add): void {
  const [old, fresh] = [isList(before) ? before : null, isList(after) ? after : null];
  if (!fresh) return void add("harmless", "enum removed", `any value is allowed; it was one of ${show(before)}`);
  if (!old) return void add("breaking", "enum added", `it must be one of ${show(after)}`);
  const removed = old.filter((value) => !fresh.some((other) => sameValue(value, other)));
  const added = fresh.filter((value) => !old.some((other) => sameValue(value, other)));
  if (removed.length) add("breaking", "enum narrowed", `no longer allows ${show(removed)}`);
  if (added.length) add("harmless", "enum widened", `also allows ${show(added)}`);
}

function defaultChange(before: Json | undefined, after: Json | undefined, add: Add): void {
  if (before === undefined) add("dangerous", "default added", show(after));
  else if (after === undefined) add("breaking", "default removed", `it was ${show(before)}`);
  else add("breaking", "default changed", `${show(before)} to ${show(after)}`);
}

function extensionChanges(before: Schema, after: Schema, add: Add): void {
  if (Boolean(before[PRESERVE]) !== Boolean(after[PRESERVE])) {
    if (after[PRESERVE]) add("harmless", "preserves unknown fields", "fields without a schema are kept");
    else add("breaking", "prunes unknown fields", "fields without a schema are dropped");
  }
  const labels = { "x-kubernetes-list-type": "list type changed", "x-kubernetes-list-map-keys": "list keys changed", "x-kubernetes-map-type": "map type changed" };
  for (const [keyword, kind] of Object.entries(labels)) {
    if (sameValue(before[keyword] ?? null, after[keyword] ?? null)) continue;
    add(keyword.endsWith("map-type") ? "dangerous" : "breaking", kind, `${show(before[keyword])} to ${show(after[keyword])}; server-side apply merges in another way`);
  }
  if (Boolean(before["x-kubernetes-embedded-resource"]) !== Boolean(after["x-kubernetes-embedded-resource"])) {
    add(after["x-kubernetes-embedded-resource"] ? "breaking" : "dangerous", "embedded resource", after["x-kubernetes-embedded-resource"] ? "it must be one now" : "it is none any more");
  }
}

function rules(schema: Schema): string[] {
  const listed = schema["x-kubernetes-validations"];
  return (isList(listed) ? listed : []).flatMap((rule) => (isMap(rule) && typeof rule["rule"] === "string" ? [rule["rule"].trim()] : []));
}

function ruleChanges(before: Schema, after: Schema, add: Add): void {
  const [old, fresh] = [rules(before), rules(after)];
  const removed = old.filter((rule) => !fresh.includes(rule));
  for (const rule of fresh.filter((each) => !old.includes(each))) {
    if (removed.length) add("dangerous", "rule changed", rule);
    else add(rule.includes("oldSelf") ? "dangerous" : "breaking", "rule added", rule);
  }
  for (const rule of removed) add("harmless", "rule removed", rule);
}

function show(value: Json | undefined): string {
  if (value === undefined || value === null) return "none";
  return isList(value) ? value.map(inline).join(", ") : inline(value);
}

/** Say of a removed and an added field with the same type and similar names that the field has probably moved. */
function withMoves(nodes: SchemaNode[]): SchemaNode[] {
  const all = [...everyNode(nodes)];
  const added = all.filter((node) => node.state === "added");
  for (const gone of all.filter((node) => node.state === "removed")) {
    const best = added
      .map((node) => ({ node, score: similarity(gone.name, node.name) + (gone.type === node.type ? 0.2 : 0) }))
      .filter(({ score }) => score >= 0.7)
      .sort((one, other) => other.score - one.score)[0];
    if (best) gone.changes[0]!.text += `; it is similar to ${best.node.path}`;
  }
  return nodes;
}

export function* everyNode(nodes: readonly SchemaNode[]): Generator<SchemaNode> {
  for (const node of nodes) {
    yield node;
    yield* everyNode(node.children);
  }
}

/** Return the number of changes by severity. */
export function countChanges(nodes: readonly SchemaNode[]): Record<Severity, number> {
  const out = { breaking: 0, dangerous: 0, harmless: 0 };
  for (const node of everyNode(nodes)) for (const change of node.changes) out[change.severity] += 1;
  return out;
}

/** Return the default at a path of values such as `spec.ports[name=http].port`, or undefined. */
export function defaultAt(schema: Schema, path: string): Json | undefined {
  let node: Schema | undefined = schema;
  let implied: Json | undefined;
  for (const step of path.match(/[^.[\]]+|\[[^\]]*\]/g) ?? []) {
    const properties: Schema | undefined = schemaOf(node?.["properties"]);
    const next: Schema | undefined = step.startsWith("[") ? (schemaOf(node?.["items"]) ?? schemaOf(node?.["additionalProperties"])) : (schemaOf(properties?.[step]) ?? schemaOf(node?.["additionalProperties"]));
    const inherited: Json | undefined = isMap(implied) ? implied[step] : undefined;
    if (!next) return inherited;
    node = next;
    implied = next["default"] ?? inherited;
  }
  return implied;
}
