/** JSON values: paths and text. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonMap = { readonly [key: string]: Json };

export const isMap = (value: unknown): value is JsonMap => typeof value === "object" && value !== null && !Array.isArray(value);
export const isList = (value: unknown): value is readonly Json[] => Array.isArray(value);

/** Return the path of a field: `spec.ports`, or `metadata.annotations["example.com/a"]` for a key with dots. */
export function joinPath(path: string, key: string): string {
  if (/[.[\]"]/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path ? `${path}.${key}` : key;
}

/** Return a value on one line. A string is shown without quotes if it cannot be mistaken for another value. */
export function inline(value: Json): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return value === "" || /^(true|false|null|~|-?[\d.]+|.*\n.*|\s.*|.*\s)$/is.test(value) ? JSON.stringify(value) : value;
}

const NOISE = ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"];

/** Return an object without the fields that say nothing about its content: bookkeeping of the server, and its version. */
export function withoutNoise(object: JsonMap): JsonMap {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = object;
  const kept = isMap(metadata) ? Object.fromEntries(Object.entries(metadata).filter(([key]) => !NOISE.includes(key))) : {};
  return { ...rest, metadata: kept };
}

/** Return an object for an editor: without the bookkeeping of the server, but with apiVersion and kind. */
export function forEditor(object: JsonMap): JsonMap {
  const { apiVersion, kind } = object;
  const { metadata, ...rest } = withoutNoise(object);
  return { ...(apiVersion !== undefined && { apiVersion }), ...(kind !== undefined && { kind }), metadata: metadata!, ...rest };
}
