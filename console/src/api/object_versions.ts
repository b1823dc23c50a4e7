/** One object at all served versions, for reads and dry runs. */
import type { JsonMap } from "../compare/json";
import { FIELD_MANAGER } from "../objects/apply_changes";
import { requestJson } from "./client";
import { objectPath, withQuery, type ResourceAddress } from "./paths";
import type { Status } from "./types";

export interface ObjectVersion {
  version: string;
  object?: JsonMap;
  /** The reason why the object cannot be shown at this version. */
  error?: Status;
}

export interface ObjectVersions {
  storageVersion: string;
  items: ObjectVersion[];
}

export interface ObjectAddress extends ResourceAddress {
  namespace: string;
  name: string;
}

const ACCEPT = "application/json;as=ObjectVersions;g=polykind.dev;v=v1";

/** Read an object at all served versions. */
export function readVersions(address: ObjectAddress, signal?: AbortSignal): Promise<ObjectVersions> {
  return requestJson(objectPath(address, address.namespace, address.name), { accept: ACCEPT, ...(signal && { signal }) });
}

/** Return what a write would store, at all served versions. Nothing is stored. */
export function previewWrite(address: ObjectAddress, object: JsonMap, options: { signal?: AbortSignal; onWarning?: (text: string) => void } = {}): Promise<ObjectVersions> {
  return requestJson(writePath(address, true), { method: "PUT", body: object, accept: ACCEPT, ...options });
}

/** Write an object at the version of the address. */
export function writeObject(address: ObjectAddress, object: JsonMap, onWarning: (text: string) => void): Promise<JsonMap> {
  return requestJson(writePath(address, false), { method: "PUT", body: object, onWarning });
}

function writePath(address: ObjectAddress, dryRun: boolean): string {
  return withQuery(objectPath(address, address.namespace, address.name), {
    fieldManager: FIELD_MANAGER,
    fieldValidation: "Warn",
    dryRun: dryRun ? "All" : undefined,
  });
}
