/** Secrets without their values, so that nobody reads them over the user's shoulder. */
import type { KubeObject } from "../api/types";
import { isMap } from "./field_path";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

export function isSecret(object: KubeObject): boolean {
  return object.kind === "Secret" && object.apiVersion === "v1";
}

/** Return an object to show. The values of a Secret are replaced by their sizes, and marked if they differ from `before`. */
export function hideSecretValues(object: KubeObject, before: KubeObject = object): KubeObject {
  if (!isSecret(object)) return object;
  const { data } = object;
  const annotations = object.metadata["annotations"];
  const hidden = { ...object };
  if (isMap(data)) {
    const known = isMap(before["data"]) ? before["data"] : {};
    hidden["data"] = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, hide(value, known[key] ?? value)]));
  }
  // kubectl apply keeps a copy of the values here.
  if (isMap(annotations) && LAST_APPLIED in annotations) {
    hidden.metadata = { ...object.metadata, annotations: { ...annotations, [LAST_APPLIED]: "(hidden)" } };
  }
  return hidden;
}

function hide(value: unknown, before: unknown): string {
  const padding = /=*$/.exec(String(value))![0].length;
  const bytes = (String(value).length / 4) * 3 - padding;
  return `(hidden, ${bytes} ${bytes === 1 ? "byte" : "bytes"}${value === before ? "" : ", changed"})`;
}
