/** One custom kind: its versions, what stands in the way of removing each, and its clients. */
import type { VNode } from "preact";
import { CRDS, CRDS_PATH, converterHealth, crdProblem, type Crd } from "../api/crd";
import { useLiveObjects } from "../api/live_objects";
import { groupOfSegment, kindsPage, objectPage, objectsPage, schemaDiffPage, withQuery } from "../api/paths";
import { useVersionReport, type VersionUse } from "../api/version_report";
import { Badge, VersionBadges } from "../components/badges";
import { ApiFailure, Empty, Loading } from "../components/feedback";
import { PageHead } from "../components/page_head";
import { VersionsTable } from "../components/versions_table";
import { ColumnHeads, Scroller } from "../components/report_parts";
import { count, formatNumber, formatTime } from "../format";
import type { PageProps } from "../router";

export default function KindPage({ params }: PageProps): VNode {
  const group = groupOfSegment(params["group"]!);
  const name = `${params["plural"]}.${group}`;
  const { objects, error } = useLiveObjects<Crd>(withQuery(CRDS_PATH, { fieldSelector: `metadata.name=${name}` }));
  const crd = objects?.[0];
  const state = useVersionReport(crd ? name : null, crd?.metadata.resourceVersion ?? "");
  if (error) return <ApiFailure page error={error} what={`read the CustomResourceDefinition ${name}`} />;
  if (!objects) return <Loading label="Loading the kind" />;
  if (!crd) {
    return (
      <Empty title={`There is no CustomResourceDefinition ${name}`}>
        <a href={kindsPage()}>All kinds</a>
      </Empty>
    );
  }
  const { names, scope, versions, conversion } = crd.spec;
  const health = converterHealth(crd);
  const problem = crdProblem(crd);
  const served = versions.find((version) => version.storage && version.served) ?? versions.find((version) => version.served);
  const total = state.report?.versions.reduce((sum, version) => sum + version.storedObjects, 0);
  return (
    <>
      <PageHead title={names.kind} crumbs={[{ label: "Kinds", href: kindsPage() }]} note={<code>{name}</code>}>
        {served && (
          <a class="button" href={objectsPage({ group, version: served.name, plural: names.plural })}>
            Objects
          </a>
        )}
        <a class="button" href={schemaDiffPage(group, names.plural)}>
          Schemas
        </a>
        <a class="button" href={objectPage(CRDS, "", name)}>
          Definition
        </a>
      </PageHead>
      {problem && <p class="remark error">{problem}</p>}
      <dl class="facts">
        <Fact label="Stored objects" value={total === undefined ? "…" : formatNumber(total)} />
        <Fact label="Storage version" value={versions.find((version) => version.storage)?.name ?? ""} />
        <Fact label="Scope" value={scope === "Namespaced" ? "Namespaced" : "Cluster-wide"} />
        <Fact label="Conversion" value={conversion?.strategy ?? "None"} />
        <Fact label="Converter" value={<Badge level={health.level}>{health.label}</Badge>} />
      </dl>
      {health.message && health.level !== "none" && <p class={`remark ${health.level}`}>{health.message}</p>}
      {state.error && <ApiFailure error={state.error} what="read the version report" />}
      <section aria-labelledby="versions">
        <h2 id="versions">Versions</h2>
        <VersionsTable crd={crd} state={state} />
      </section>
      {state.report && (
        <>
          <section aria-labelledby="removal">
            <h2 id="removal">What stands in the way of removing a version</h2>
            {state.report.versions.map((use) => (
              <RemovalCard key={use.name} use={use} />
            ))}
          </section>
          <section aria-labelledby="clients">
            <h2 id="clients">Clients</h2>
            <p class="hint">Since the server started, {formatTime(state.report.since)}.</p>
            <ClientsTable versions={state.report.versions} />
          </section>
        </>
      )}
    </>
  );
}

function Fact({ label, value }: { label: string; value: string | VNode }): VNode {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function RemovalCard({ use }: { use: VersionUse }): VNode {
  return (
    <article class="card removal">
      <div class="kind-head">
        <h3>{use.name}</h3>
        <VersionBadges served={use.served} storage={use.storage} deprecated={use.deprecated} />
        <span class="kind-state">
          {use.hindrances.length === 0 && <Badge level="ok">Can be removed</Badge>}
          <span class="hint">
            {count(use.storedObjects, "object")} stored, {formatNumber(use.managedObjects)} with field managers, {count(use.clients.length, "client")}
          </span>
        </span>
      </div>
      {use.hindrances.length > 0 && (
        <ol class="obstacles">
          {use.hindrances.map((text) => (
            <li key={text}>{sentence(text)}</li>
          ))}
        </ol>
      )}
    </article>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function ClientsTable({ versions }: { versions: readonly VersionUse[] }): VNode {
  const rows = versions.flatMap((version) => version.clients.map((client) => ({ version: version.name, ...client })));
  if (rows.length === 0) return <Empty title="No client has requested this kind yet" />;
  return (
    <Scroller label="Clients">
      <table>
        <ColumnHeads names={["Version", "User", "Client", "Reads", "Writes", "Last request"]} numbers={[3, 4]} />
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.version} ${row.user} ${row.agent}`}>
              <td>{row.version}</td>
              <td>{row.user}</td>
              <td class="agent">{row.agent}</td>
              <td class="number">{formatNumber(row.reads)}</td>
              <td class="number">{formatNumber(row.writes)}</td>
              <td class="nowrap">{formatTime(row.last)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}
