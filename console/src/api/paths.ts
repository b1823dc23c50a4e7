/** Paths of the API, and of the console's pages. */

/** A resource at one version. */
export interface ResourceAddress {
  group: string;
  version: string;
  plural: string;
}

/** Return the API path of a collection. Without a namespace, it is the collection of all namespaces. */
export function collectionPath({ group, version, plural }: ResourceAddress, namespace = ""): string {
  const root = group ? `/apis/${group}/${version}` : `/api/${version}`;
  return namespace ? `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}` : `${root}/${plural}`;
}

/** Return the API path of an object. */
export function objectPath(resource: ResourceAddress, namespace: string, name: string): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
}

/** Return an API path with query parameters. Empty values are left out. */
export function withQuery(path: string, parameters: Record<string, string | number | boolean | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

const CORE = "core";
const NO_NAMESPACE = "-";

/** Return the console's path for a group: the core group has no name. */
export const groupSegment = (group: string): string => group || CORE;
export const groupOfSegment = (segment: string): string => (segment === CORE ? "" : segment);
export const namespaceOfSegment = (segment: string): string => (segment === NO_NAMESPACE ? "" : segment);

export const kindsPage = (): string => "/console/kinds";
export const kindPage = (group: string, plural: string): string => `/console/kinds/${groupSegment(group)}/${plural}`;

export function objectsPage({ group, version, plural }: ResourceAddress, namespace = ""): string {
  return withQuery(`/console/objects/${groupSegment(group)}/${version}/${plural}`, { namespace });
}

export function objectPage(resource: ResourceAddress, namespace: string, name: string, tab = ""): string {
  const { group, version, plural } = resource;
  const place = `${groupSegment(group)}/${version}/${plural}/${namespace || NO_NAMESPACE}/${encodeURIComponent(name)}`;
  return withQuery(`/console/objects/${place}`, { tab });
}

export function createPage({ group, version, plural }: ResourceAddress, namespace = ""): string {
  return withQuery(`/console/create/${groupSegment(group)}/${version}/${plural}`, { namespace });
}

/** Return the page that shows an object at all its versions, with `edit` to edit it at one of them. */
export function comparePage(group: string, plural: string, namespace: string, name: string, edit = ""): string {
  const place = `${groupSegment(group)}/${plural}/${namespace || NO_NAMESPACE}/${encodeURIComponent(name)}`;
  return withQuery(`/console/compare/${place}`, { edit });
}

/** Return the page with the differences between schemas of a CRD. */
export const schemaDiffPage = (group: string, plural: string): string => `/console/schemas/${groupSegment(group)}/${plural}`;
