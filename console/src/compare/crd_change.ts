/** A new release of a CRD against the stored one: versions, schemas, and the warnings of the server's dry run. */
import { parseAllDocuments } from "yaml";
import type { Crd, CrdVersion } from "../api/crd";
import { isMap, type JsonMap } from "./json";
import { diffSchemas, type SchemaNode } from "./schema_diff";

export interface VersionChange {
  version: string;
  /** Changes of the version itself, such as `no longer served`. */
  remarks: string[];
  nodes: SchemaNode[];
}

export const schemaOf = (version: CrdVersion | undefined): JsonMap => {
  const schema = version?.schema?.openAPIV3Schema;
  return isMap(schema) ? schema : {};
};

/** Return the versions that differ between two releases of a CRD. */
export function diffReleases(before: Crd, after: Crd): VersionChange[] {
  const names = [...new Set([...after.spec.versions, ...before.spec.versions].map((version) => version.name))];
  return names
    .map((version): VersionChange => {
      const [old, fresh] = [before, after].map((crd) => crd.spec.versions.find((entry) => entry.name === version));
      if (!old) return { version, remarks: [`new${fresh?.served ? ", served" : ""}${fresh?.storage ? ", the storage version" : ""}`], nodes: [] };
      if (!fresh) return { version, remarks: ["removed"], nodes: [] };
      const remarks: string[] = [];
      if (old.served !== fresh.served) remarks.push(fresh.served ? "served now" : "no longer served");
      if (old.storage !== fresh.storage) remarks.push(fresh.storage ? "the storage version now" : "no longer the storage version");
      if (Boolean(old.deprecated) !== Boolean(fresh.deprecated)) remarks.push(fresh.deprecated ? "deprecated now" : "no longer deprecated");
      return { version, remarks, nodes: diffSchemas(schemaOf(old), schemaOf(fresh)) };
    })
    .filter((change) => change.remarks.length > 0 || change.nodes.length > 0);
}

/** Return the CRD in a manifest with one or several documents. Throw an Error with the reason if there is none. */
export function readCrd(text: string, name: string): Crd {
  const found: Crd[] = [];
  for (const document of parseAllDocuments(text)) {
    if ("errors" in document && document.errors.length) throw new Error(document.errors[0]!.message);
    const value: unknown = "toJS" in document ? document.toJS() : null;
    const items = isMap(value) && value["kind"] === "List" && Array.isArray(value["items"]) ? value["items"] : [value];
    for (const item of items) {
      if (!isMap(item) || item["kind"] !== "CustomResourceDefinition") continue;
      if (item["apiVersion"] !== "apiextensions.k8s.io/v1") throw new Error(`The CRD has the version ${String(item["apiVersion"])}. Convert it to apiextensions.k8s.io/v1 first.`);
      found.push(item as unknown as Crd);
    }
  }
  if (!found.length) throw new Error("The text contains no CustomResourceDefinition.");
  const wanted = found.find((crd) => crd.metadata?.name === name);
  if (!wanted) throw new Error(`The text has ${found.map((crd) => crd.metadata?.name).join(", ")}, and not ${name}.`);
  if (!Array.isArray(wanted.spec?.versions)) throw new Error("The CRD has no spec.versions.");
  return wanted;
}

export interface Finding {
  level: "error" | "warning" | "note";
  /** `breaking` or `dangerous`; for stored objects `objects`. */
  severity: string;
  text: string;
  /** The name of the finding in `polykind check`, such as `field-removed`. */
  name: string;
}

/** Return the findings in the warnings of a dry run. The server writes them as `polykind check` names them. */
export function readFindings(warnings: readonly string[]): Finding[] {
  return warnings.map((warning) => {
    const found = /^(breaking|dangerous): (.*?)(?: \[([\w-]+)\])?$/s.exec(warning);
    if (found) return { level: found[1] === "breaking" ? "error" : "warning", severity: found[1]!, text: found[2]!, name: found[3] ?? "" };
    const objects = /^\d+ of \d+ stored objects (become invalid|lose a field|change by a default)/.exec(warning);
    if (objects) return { level: objects[1] === "change by a default" ? "warning" : "error", severity: "objects", text: warning, name: "" };
    return { level: "note", severity: "", text: warning, name: "" };
  });
}
