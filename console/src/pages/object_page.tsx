/** One object: YAML with schema help and field managers, an editor, events, relations, and its history. */
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { asApiError, requestJson, type ApiError } from "../api/client";
import { findKind, type Kind } from "../api/discovery";
import { useLiveObjects } from "../api/live_objects";
import { collectionPath, comparePage, groupOfSegment, kindsPage, namespaceOfSegment, objectPage, objectPath, objectsPage, withQuery, type ResourceAddress } from "../api/paths";
import type { KubeObject } from "../api/types";
import { ApiFailure, Empty, Loading } from "../components/feedback";
import { Icon } from "../components/icon";
import { kindsPending } from "../components/kinds_pending";
import { PageHead, type Crumb } from "../components/page_head";
import { UnsavedEdit } from "../components/draft_notes";
import { DeleteDialog } from "../object_tabs/delete_dialog";
import { EditTab } from "../object_tabs/edit_tab";
import { EventsTab } from "../object_tabs/events_tab";
import { HistoryTab } from "../object_tabs/history_tab";
import { useHistory } from "../object_tabs/object_history";
import { RelationsTab } from "../object_tabs/relations_tab";
import { YamlTab } from "../object_tabs/yaml_tab";
import { age } from "../format";
import { navigate, type PageProps } from "../router";

export interface ObjectAddress {
  resource: ResourceAddress;
  kind: Kind;
  namespace: string;
  name: string;
}

export default function ObjectPage({ params, query }: PageProps): VNode {
  const resource = { group: groupOfSegment(params["group"]!), version: params["version"]!, plural: params["plural"]! };
  const kind = findKind(resource.group, resource.plural);
  const pending = kindsPending();
  if (pending) return pending;
  if (!kind) {
    return (
      <Empty page title={`The server does not serve ${resource.plural} of ${resource.group || "the core group"}`}>
        <a href={kindsPage()}>All kinds</a>
      </Empty>
    );
  }
  const address = { resource, kind, namespace: namespaceOfSegment(params["namespace"]!), name: params["name"]! };
  const path = objectPath(resource, address.namespace, address.name);
  return <OneObject key={path} address={address} tab={query.get("tab") ?? "yaml"} />;
}

function OneObject({ address, tab }: { address: ObjectAddress; tab: string }): VNode {
  const { resource, kind, namespace, name } = address;
  const { object, error, gone } = useObject(address);
  const history = useHistory(object);
  const [deleting, setDeleting] = useState(false);
  if (!object) {
    if (gone) {
      return (
        <Empty page title={`There is no ${kind.kind} ${namespace ? `${namespace}/` : ""}${name}`}>
          <a href={objectsPage(resource, namespace)}>All {kind.plural}</a>
        </Empty>
      );
    }
    return error ? <ApiFailure page error={error} what={`read the ${kind.kind} ${name}`} /> : <Loading label="Loading the object" />;
  }
  const crumbs: Crumb[] = [{ label: kind.kind, href: objectsPage(resource) }];
  if (namespace) crumbs.push({ label: namespace, href: objectsPage(resource, namespace) });
  const verbs = kind.versions.find((version) => version.version === resource.version)?.verbs ?? [];
  const tabs: readonly [string, string][] = [
    ["yaml", "YAML"],
    ["events", "Events"],
    ["relations", "Owners and dependents"],
    ["history", history.length > 1 ? `History (${history.length - 1})` : "History"],
  ];
  return (
    <>
      <PageHead title={name} crumbs={crumbs} note={<ObjectNote object={object} gone={gone} />}>
        {kind.versions.length > 1 && (
          <label class="field-inline">
            <span>Version</span>
            <select
              value={resource.version}
              onChange={(event) => navigate(objectPage({ ...resource, version: event.currentTarget.value }, namespace, name, tab))}
            >
              {kind.versions.map(({ version }) => (
                <option key={version}>{version}</option>
              ))}
            </select>
          </label>
        )}
        {kind.versions.length > 1 && !gone && (
          <a class="button" href={comparePage(resource.group, resource.plural, namespace, name)}>
            Compare versions
          </a>
        )}
        {verbs.includes("patch") && !gone && tab !== "edit" && (
          <a class="button" href={objectPage(resource, namespace, name, "edit")}>
            <Icon name="edit" />
            Edit
          </a>
        )}
        {verbs.includes("delete") && !gone && (
          <button type="button" class="danger" onClick={() => setDeleting(true)}>
            <Icon name="trash" />
            Delete
          </button>
        )}
      </PageHead>
      {gone && <p class="remark warning">The object has been deleted. This is its last state.</p>}
      {tab !== "edit" && !gone && <UnsavedEdit page={objectPage(resource, namespace, name, "edit")} />}
      {tab === "edit" ? (
        <EditTab address={address} object={object} />
      ) : (
        <>
          <nav class="tabs" aria-label="Parts of the object">
            <ul>
              {tabs.map(([id, label]) => (
                <li key={id}>
                  <a href={objectPage(resource, namespace, name, id === "yaml" ? "" : id)} aria-current={tab === id ? "page" : undefined}>
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          {tab === "events" && <EventsTab object={object} />}
          {tab === "relations" && <RelationsTab object={object} />}
          {tab === "history" && <HistoryTab entries={history} />}
          {tab === "yaml" && <YamlTab address={address} object={object} />}
        </>
      )}
      {deleting && <DeleteDialog address={address} object={object} onClose={() => setDeleting(false)} />}
    </>
  );
}

function ObjectNote({ object, gone }: { object: KubeObject; gone: boolean }): VNode {
  const created = object.metadata.creationTimestamp;
  return (
    <span class="object-note">
      <code>{object.apiVersion}</code>
      {created && <span title={created}>created {age(Date.parse(created), Date.now())} ago</span>}
      {object.metadata.deletionTimestamp && !gone && <span class="badge warning">Deleting</span>}
    </span>
  );
}

interface ObjectState {
  object: KubeObject | null;
  error: ApiError | null;
  /** True if the object does not exist, or no longer. */
  gone: boolean;
}

/** Follow an object. A user with only the permission `get` sees its current state. */
function useObject({ resource, namespace, name }: ObjectAddress): ObjectState {
  const path = withQuery(collectionPath(resource, namespace), { fieldSelector: `metadata.name=${name}` });
  const live = useLiveObjects(path);
  const [single, setSingle] = useState<{ object: KubeObject | null; error: ApiError | null }>({ object: null, error: null });
  const last = useRef<KubeObject | null>(null);
  const restricted = live.error !== null;
  useEffect(() => {
    if (!restricted) return;
    requestJson<KubeObject>(objectPath(resource, namespace, name)).then(
      (object) => setSingle({ object, error: null }),
      (error: unknown) => setSingle({ object: null, error: asApiError(error) }),
    );
  }, [restricted, path]);
  return useMemo(() => {
    if (restricted) return { ...single, gone: single.error?.notFound ?? false };
    const found = live.objects?.[0];
    if (found) {
      // The items of a list have no type, unlike the events of a watch.
      const { metadata, ...rest } = found;
      last.current = { apiVersion: resource.group ? `${resource.group}/${resource.version}` : resource.version, ...rest, metadata };
      return { object: withType(last.current, resource), error: null, gone: false };
    }
    return { object: last.current && withType(last.current, resource), error: null, gone: live.objects !== null };
  }, [live, single, restricted]);
}

function withType(object: KubeObject, resource: ResourceAddress): KubeObject {
  const { apiVersion, kind, metadata, ...rest } = object;
  return { apiVersion: apiVersion!, kind: kind ?? findKind(resource.group, resource.plural)?.kind ?? "", metadata, ...rest };
}
