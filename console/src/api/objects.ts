/** Reads and writes of single objects. */
import type { JsonMap } from "../objects/field_path";
import { FIELD_MANAGER } from "../objects/apply_changes";
import { ApiError, requestJson } from "./client";
import { collectionPath, objectPath, withQuery, type ResourceAddress } from "./paths";
import type { KubeObject, StatusCause } from "./types";

export interface WriteOptions {
  dryRun?: boolean;
  force?: boolean;
  onWarning?: (text: string) => void;
}

const parameters = (options: WriteOptions): Record<string, string | boolean | undefined> => ({
  fieldManager: FIELD_MANAGER,
  fieldValidation: "Strict",
  dryRun: options.dryRun ? "All" : undefined,
  force: options.force || undefined,
});

const warning = (options: WriteOptions): { onWarning?: (text: string) => void } =>
  options.onWarning ? { onWarning: options.onWarning } : {};

/** Apply a configuration (server-side apply). Throw ApiError with the code 409 if another manager owns a field. */
export function applyObject(resource: ResourceAddress, namespace: string, name: string, body: JsonMap, options: WriteOptions = {}): Promise<KubeObject> {
  return requestJson(withQuery(objectPath(resource, namespace, name), parameters(options)), {
    method: "PATCH",
    body,
    contentType: "application/apply-patch+yaml",
    ...warning(options),
  });
}

/** Replace an object. */
export function replaceObject(resource: ResourceAddress, namespace: string, name: string, body: JsonMap, options: WriteOptions = {}): Promise<KubeObject> {
  return requestJson(withQuery(objectPath(resource, namespace, name), parameters(options)), { method: "PUT", body, ...warning(options) });
}

export function createObject(resource: ResourceAddress, namespace: string, body: JsonMap, options: WriteOptions = {}): Promise<KubeObject> {
  return requestJson(withQuery(collectionPath(resource, namespace), parameters(options)), { method: "POST", body, ...warning(options) });
}

export type Propagation = "Background" | "Foreground" | "Orphan";

export function deleteObject(resource: ResourceAddress, namespace: string, name: string, uid: string, propagationPolicy: Propagation): Promise<unknown> {
  return requestJson(objectPath(resource, namespace, name), { method: "DELETE", body: { propagationPolicy, preconditions: { uid } } });
}

export interface Conflict {
  /** The field as the server writes it, such as `.spec.items[name="a"].size`. */
  field: string;
  manager: string;
}

/** Return the conflicts of an apply, or null if the error is another one. */
export function readConflicts(error: unknown): Conflict[] | null {
  if (!(error instanceof ApiError) || error.code !== 409) return null;
  const found = error.causes.filter((cause) => cause.reason === "FieldManagerConflict");
  return found.length ? found.map(readConflict) : null;
}

function readConflict(cause: StatusCause): Conflict {
  return { field: cause.field ?? "", manager: /conflict with "([^"]*)"/.exec(cause.message ?? "")?.[1] ?? cause.message ?? "" };
}
