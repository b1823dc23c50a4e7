/** All kinds by group: custom kinds with the state of each version, and built-in kinds. */
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CRDS_PATH, converterHealth, crdProblem, type Crd } from "../api/crd";
import { isListable, kinds, loadKinds, type Kind } from "../api/discovery";
import { useLiveObjects } from "../api/live_objects";
import { kindPage, objectsPage } from "../api/paths";
import { useVersionReport } from "../api/version_report";
import { Badge } from "../components/badges";
import { ApiFailure, Empty } from "../components/feedback";
import { kindsPending } from "../components/kinds_pending";
import { PageHead } from "../components/page_head";
import { SearchField } from "../components/search_field";
import { useSeen } from "../components/use_seen";
import { VersionsTable } from "../components/versions_table";
import { count } from "../format";

export default function KindsPage(): VNode {
  const { objects: crds, error } = useLiveObjects<Crd>(CRDS_PATH);
  const [filter, setFilter] = useState("");
  // A changed CRD changes the kinds that are served.
  const revision = crds?.map((crd) => `${crd.metadata.uid}${crd.metadata.generation}${crd.status?.conditions?.length}`).join();
  useEffect(() => {
    if (revision !== undefined) void loadKinds();
  }, [revision]);

  const wanted = filter.trim().toLowerCase();
  const groups = useMemo(() => groupCrds(crds ?? [], wanted), [crds, wanted]);
  const builtin = useMemo(() => groupBuiltins(kinds.value ?? [], crds ?? [], wanted), [kinds.value, crds, wanted]);

  const pending = kindsPending();
  if (pending) return pending;
  return (
    <>
      <PageHead title="Kinds" note={crds && `${count(crds.length, "custom kind")} in ${count(new Set(crds.map((c) => c.spec.group)).size, "group")}`}>
        <SearchField label="Filter kinds" value={filter} onInput={setFilter} />
      </PageHead>
      {error && <ApiFailure error={error} what="list CustomResourceDefinitions" />}
      {crds?.length === 0 && (
        <Empty title="This server has no custom kinds yet">
          <p>
            Create a CustomResourceDefinition with <code>kubectl apply -f crd.yaml</code>, and it appears here.
          </p>
        </Empty>
      )}
      {groups.map(([group, members]) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{group}</h2>
          {members.map((crd) => (
            <KindCard key={crd.metadata.name} crd={crd} />
          ))}
        </section>
      ))}
      {wanted && groups.length === 0 && builtin.length === 0 && <Empty title={`No kind matches “${filter}”`} />}
      {builtin.length > 0 && (
        <section aria-labelledby="builtin">
          <h2 id="builtin">{error ? "All kinds" : "Built-in kinds"}</h2>
          <div class="groups">
            {builtin.map(([group, members]) => (
              <div class="group" key={group}>
                <h3>{group || "core"}</h3>
                <ul class="kind-links">
                  {members.map((kind) => (
                    <li key={kind.plural}>
                      <a href={objectsPage({ group, version: kind.versions[0]!.version, plural: kind.plural })}>{kind.kind}</a>
                      <span class="hint">{kind.versions.map((version) => version.version).join(", ")}</span>
                    </li>
                  ))}
                </ul>
              </div>
            ))}
          </div>
        </section>
      )}
    </>
  );
}

/** A custom kind. Its version report is loaded when the card comes into view, because the server counts the objects. */
function KindCard({ crd }: { crd: Crd }): VNode {
  const { group, names, scope, versions } = crd.spec;
  const root = useRef<HTMLElement>(null);
  const seen = useSeen(root);
  const state = useVersionReport(seen ? crd.metadata.name : null, crd.metadata.resourceVersion ?? "");
  const health = converterHealth(crd);
  const problem = crdProblem(crd);
  const served = versions.find((version) => version.storage && version.served) ?? versions.find((version) => version.served);
  return (
    <article class="card kind-card" ref={root} aria-labelledby={`kind-${crd.metadata.name}`}>
      <div class="kind-head">
        <h3 id={`kind-${crd.metadata.name}`}>
          <a href={kindPage(group, names.plural)}>{names.kind}</a>
        </h3>
        <span class="hint">
          {names.plural}
          {names.shortNames?.length ? ` (${names.shortNames.join(", ")})` : ""} · {scope === "Namespaced" ? "namespaced" : "cluster-wide"}
        </span>
        <span class="kind-state">
          {versions.length > 1 && (
            <Badge level={health.level} title={health.message}>
              Converter: {health.label.toLowerCase()}
            </Badge>
          )}
          {served && <a href={objectsPage({ group, version: served.name, plural: names.plural })}>Objects</a>}
        </span>
      </div>
      {problem && <p class="remark error">{problem}</p>}
      {health.level === "error" && <p class="remark error">{health.message}</p>}
      <VersionsTable crd={crd} state={state} />
    </article>
  );
}

function matches(wanted: string, ...texts: (string | undefined)[]): boolean {
  return !wanted || texts.some((text) => text?.toLowerCase().includes(wanted));
}

/** Return the CRDs that match the filter, by group, in alphabetical order. */
function groupCrds(crds: readonly Crd[], wanted: string): [string, Crd[]][] {
  const found = new Map<string, Crd[]>();
  for (const crd of [...crds].sort((a, b) => (a.spec.names.kind < b.spec.names.kind ? -1 : 1))) {
    const { group, names } = crd.spec;
    if (!matches(wanted, group, names.kind, names.plural, ...(names.shortNames ?? []))) continue;
    found.set(group, [...(found.get(group) ?? []), crd]);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Return the other kinds that can be listed, by group. */
function groupBuiltins(all: readonly Kind[], crds: readonly Crd[], wanted: string): [string, Kind[]][] {
  const custom = new Set(crds.map((crd) => crd.metadata.name));
  const found = new Map<string, Kind[]>();
  for (const kind of all) {
    if (custom.has(`${kind.plural}.${kind.group}`) || !isListable(kind)) continue;
    if (!matches(wanted, kind.group, kind.kind, kind.plural, ...kind.shortNames)) continue;
    found.set(kind.group, [...(found.get(kind.group) ?? []), kind]);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}
