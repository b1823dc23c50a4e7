/** The objects of a kind as a live table, with the columns that the server prints. */
import type { TargetedSubmitEvent, VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { findKind, type Kind } from "../api/discovery";
import { LiveTable, MAX_ROWS, type TableState } from "../api/live_table";
import { useLiveObjects } from "../api/live_objects";
import { collectionPath, createPage, groupOfSegment, kindPage, kindsPage, objectPage, withQuery, type ResourceAddress } from "../api/paths";
import { ApiFailure, Empty, Loading } from "../components/feedback";
import { Icon } from "../components/icon";
import { KindList } from "../components/kind_list";
import { kindsPending } from "../components/kinds_pending";
import { ObjectTable } from "../components/object_table";
import { PageHead } from "../components/page_head";
import { SearchField } from "../components/search_field";
import { count, formatNumber } from "../format";
import { navigate, setQuery, type PageProps } from "../router";

export default function ObjectsPage({ params, query }: PageProps): VNode {
  const group = groupOfSegment(params["group"]!);
  const address = { group, version: params["version"]!, plural: params["plural"]! };
  const kind = findKind(group, address.plural);
  return (
    <div class="with-kinds">
      <KindList group={group} plural={address.plural} />
      <div class="page-body">{content(kind, address, query)}</div>
    </div>
  );
}

function content(kind: Kind | undefined, address: ResourceAddress, query: URLSearchParams): VNode {
  const pending = kindsPending();
  if (pending) return pending;
  if (!kind?.versions.some((version) => version.version === address.version)) {
    return (
      <Empty page title={`The server does not serve ${address.plural} of ${address.group || "the core group"} at ${address.version}`}>
        <a href={kindsPage()}>All kinds</a>
      </Empty>
    );
  }
  return <Objects key={`${address.group}/${address.version}/${address.plural}`} kind={kind} address={address} query={query} />;
}

function Objects({ kind, address, query }: { kind: Kind; address: ResourceAddress; query: URLSearchParams }): VNode {
  const namespace = kind.namespaced ? (query.get("namespace") ?? "") : "";
  const labels = query.get("labels") ?? "";
  const fields = query.get("fields") ?? "";
  const name = (query.get("name") ?? "").toLowerCase();
  const wide = query.get("wide") === "1";
  const path = withQuery(collectionPath(address, namespace), { labelSelector: labels, fieldSelector: fields });
  const state = useLiveTable(path);
  const rows = useMemo(() => {
    const found = state?.rows ?? [];
    return name ? found.filter((row) => row.name.includes(name)) : found;
  }, [state?.rows, name]);
  const hasWide = state?.columns?.some((column) => column.priority > 0) ?? false;
  const creatable = kind.versions.some((version) => version.verbs.includes("create"));
  return (
    <>
      <PageHead
        title={kind.kind}
        crumbs={[{ label: kind.group || "core", href: isCustom(kind) ? kindPage(kind.group, kind.plural) : kindsPage() }]}
        note={<Status state={state} shown={rows.length} filtered={name !== ""} />}
      >
        {kind.versions.length > 1 && (
          <label class="field-inline">
            <span>Version</span>
            <select
              value={address.version}
              onChange={(event) =>
                navigate(window.location.pathname.replace(`/${address.version}/`, `/${event.currentTarget.value}/`) + window.location.search)
              }
            >
              {kind.versions.map(({ version }) => (
                <option key={version}>{version}</option>
              ))}
            </select>
          </label>
        )}
        {creatable && (
          <a class="button" href={createPage(address, namespace)}>
            <Icon name="plus" />
            Create
          </a>
        )}
      </PageHead>
      <form class="filters" onSubmit={(event) => applyFilters(event)} role="search" aria-label="Selectors">
        {kind.namespaced && <NamespaceChoice namespace={namespace} />}
        <SearchField label="Name contains" value={query.get("name") ?? ""} onInput={(value) => setQuery({ name: value })} />
        <input key={`l${labels}`} name="labels" aria-label="Label selector" placeholder="Labels: app=web,tier!=db" defaultValue={labels} spellcheck={false} />
        <input key={`f${fields}`} name="fields" aria-label="Field selector" placeholder="Fields: metadata.name=a" defaultValue={fields} spellcheck={false} />
        <button type="submit">Select</button>
        {hasWide && (
          <label class="check">
            <input type="checkbox" checked={wide} onChange={(event) => setQuery({ wide: event.currentTarget.checked ? "1" : "" })} />
            All columns
          </label>
        )}
      </form>
      {state?.error && <ApiFailure error={state.error} what={`list ${kind.plural}${namespace ? ` in ${namespace}` : ""}`} />}
      {!state?.columns && !state?.error && <Loading label={`Loading ${kind.plural}`} />}
      {state?.columns && !state.error && rows.length === 0 && !state.loading && (
        <Empty title={labels || fields || name ? "No object matches" : `There are no ${kind.plural}${namespace ? ` in ${namespace}` : ""}`}>
          <p>New objects appear here by themselves.</p>
        </Empty>
      )}
      {state?.columns && rows.length > 0 && (
        <ObjectTable
          label={`${kind.kind} objects`}
          columns={state.columns}
          wide={wide}
          rows={rows}
          namespaces={kind.namespaced && namespace === ""}
          href={(row) => objectPage(address, row.namespace, row.name)}
        />
      )}
    </>
  );
}

function isCustom(kind: Kind): boolean {
  return kind.group.includes(".") && !kind.group.endsWith(".k8s.io");
}

function applyFilters(event: TargetedSubmitEvent<HTMLFormElement>): void {
  event.preventDefault();
  const data = new FormData(event.currentTarget);
  setQuery({ labels: String(data.get("labels") ?? "").trim(), fields: String(data.get("fields") ?? "").trim() }, {});
}

function Status({ state, shown, filtered }: { state: TableState | null; shown: number; filtered: boolean }): VNode {
  if (!state?.columns) return <>&nbsp;</>;
  const total = state.total;
  return (
    <span role="status" class="table-status">
      {filtered ? `${formatNumber(shown)} of ${count(total, "object")}` : count(total, "object")}
      {state.loading && state.rows.length < total && `, ${formatNumber(state.rows.length)} loaded`}
      {state.full && `. The first ${formatNumber(MAX_ROWS)} are shown: use selectors to find others`}
    </span>
  );
}

/** A choice of namespaces, or a field for one if the user may not list them. */
function NamespaceChoice({ namespace }: { namespace: string }): VNode {
  const { objects, error } = useLiveObjects("/api/v1/namespaces");
  const set = (value: string): void => setQuery({ namespace: value }, {});
  if (error) {
    return (
      <input aria-label="Namespace" placeholder="Namespace" defaultValue={namespace} onChange={(event) => set(event.currentTarget.value.trim())} />
    );
  }
  const names = (objects ?? []).map((object) => object.metadata.name).sort();
  if (namespace && !names.includes(namespace)) names.unshift(namespace);
  return (
    <select aria-label="Namespace" value={namespace} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">All namespaces</option>
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

function useLiveTable(path: string): TableState | null {
  const [state, setState] = useState<TableState | null>(null);
  useEffect(() => {
    const table = new LiveTable(path);
    const stop = table.state.subscribe(setState);
    return (): void => {
      stop();
      table.close();
    };
  }, [path]);
  return state;
}
