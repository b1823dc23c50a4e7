/** Storage version migrations: their progress, and the kinds whose objects are stored at old versions. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { useAccess } from "../api/access";
import { errorMessage, requestJson } from "../api/client";
import { converterHealth, CRDS_PATH, type Crd } from "../api/crd";
import { useLiveObjects } from "../api/live_objects";
import { useMetricsHistory } from "../api/metrics_history";
import { kindPage } from "../api/paths";
import type { Condition, KubeObject } from "../api/types";
import { useVersionReport } from "../api/version_report";
import { storedCounts } from "../compare/migration_progress";
import type { Sample } from "../compare/metrics";
import { ApiFailure, Empty, Loading, Message } from "../components/feedback";
import { PageHead } from "../components/page_head";
import { ColumnHeads, Scroller, SignBadge, type Level } from "../components/report_parts";
import { count, formatNumber, formatTime } from "../format";
import "../styles/compare.css";

const MIGRATIONS = "/apis/storagemigration.k8s.io/v1/storageversionmigrations";
const INTERVAL = 2_000;

interface Migration extends KubeObject {
  spec: { resource: { group: string; resource: string } };
  status?: { conditions?: Condition[] };
}

export default function MigrationsPage(): VNode {
  const crds = useLiveObjects<Crd>(CRDS_PATH);
  const migrations = useLiveObjects<Migration>(MIGRATIONS);
  const { latest } = useMetricsHistory(INTERVAL, () => null);
  const allowed = useAccess({ verb: "create", group: "storagemigration.k8s.io", resource: "storageversionmigrations" });
  return (
    <>
      <PageHead title="Migrations" note="A migration writes every object again, so that all are stored at the storage version. Then an old version can be removed." />
      <section aria-labelledby="kinds-title">
        <h2 id="kinds-title">Stored versions</h2>
        {crds.error ? (
          <ApiFailure error={crds.error} what="list CustomResourceDefinitions" />
        ) : !crds.objects ? (
          <Loading label="Loading the kinds" />
        ) : (
          <StoredVersions crds={crds.objects} migrations={migrations.objects ?? []} samples={latest?.samples ?? null} allowed={allowed} />
        )}
      </section>
      <section aria-labelledby="migrations-title">
        <h2 id="migrations-title">Migrations</h2>
        {migrations.error ? (
          <ApiFailure error={migrations.error} what="list migrations" />
        ) : !migrations.objects ? (
          <Loading label="Loading the migrations" />
        ) : (
          <MigrationList migrations={migrations.objects} />
        )}
      </section>
    </>
  );
}

function stateOf(migration: Migration): { level: Level; label: string; message: string } {
  const found = (type: string): Condition | undefined => migration.status?.conditions?.find((condition) => condition.type === type && condition.status === "True");
  const failed = found("Failed");
  if (failed) return { level: "error", label: "Failed", message: failed.message ?? "" };
  const succeeded = found("Succeeded");
  // The messages of these states repeat their names.
  if (succeeded) return { level: "ok", label: "Succeeded", message: "" };
  return found("Running") ? { level: "note", label: "Running", message: "" } : { level: "none", label: "Pending", message: "" };
}

function StoredVersions(props: { crds: readonly Crd[]; migrations: readonly Migration[]; samples: readonly Sample[] | null; allowed: boolean | null }): VNode {
  const several = [...props.crds].filter((crd) => crd.spec.versions.length > 1 || (crd.status?.storedVersions?.length ?? 0) > 1);
  if (!several.length) return <Empty title="No kind has several versions" />;
  several.sort((one, other) => one.metadata.name.localeCompare(other.metadata.name));
  return (
    <div class="migration-kinds">
      {several.map((crd) => (
        <StoredKind key={crd.metadata.name} {...props} crd={crd} />
      ))}
    </div>
  );
}

function StoredKind({ crd, migrations, samples, allowed }: { crd: Crd; migrations: readonly Migration[]; samples: readonly Sample[] | null; allowed: boolean | null }): VNode {
  const [problem, setProblem] = useState("");
  const { group, names, versions } = crd.spec;
  const storage = versions.find((version) => version.storage)?.name ?? "";
  const health = converterHealth(crd);
  const listed = crd.status?.storedVersions ?? [];
  const migrated = migrations.filter((each) => each.spec.resource.group === group && each.spec.resource.resource === names.plural);
  const { report } = useVersionReport(crd.metadata.name, `${crd.metadata.resourceVersion} ${migrated.map((each) => stateOf(each).label).join(" ")}`);
  const stored = storedCounts(samples ?? [], group, names.plural, report);
  const all = stored?.reduce((sum, each) => sum + each.count, 0) ?? 0;
  const current = stored?.find((each) => each.version === storage)?.count ?? 0;
  const running = migrated.some((migration) => ["Running", "Pending"].includes(stateOf(migration).label));
  const needed = listed.some((version) => version !== storage) || current < all;

  async function start(): Promise<void> {
    setProblem("");
    try {
      await requestJson(MIGRATIONS, {
        method: "POST",
        body: {
          apiVersion: "storagemigration.k8s.io/v1",
          kind: "StorageVersionMigration",
          metadata: { generateName: `${names.plural}-to-${storage}-` },
          spec: { resource: { group, resource: names.plural } },
        },
      });
    } catch (error) {
      setProblem(errorMessage(error));
    }
  }

  return (
    <article class="card stored-kind">
      <div class="section-head">
        <h3>
          <a href={kindPage(group, names.plural)}>{names.kind}</a> <span class="hint">{crd.metadata.name}</span>
        </h3>
        {needed ? <SignBadge level="warning">Objects at old versions</SignBadge> : <SignBadge level="ok">All at {storage}</SignBadge>}
        <button type="button" disabled={!allowed || running} title={allowed === false ? "You may not create StorageVersionMigrations." : undefined} onClick={() => void start()}>
          {running ? "Migrating…" : `Migrate to ${storage}`}
          <span class="hidden-text">for {names.kind}</span>
        </button>
      </div>
      {stored && all > 0 && (
        <>
          <StoredBar stored={stored} total={all} storage={storage} kind={names.kind} />
          <p class="hint">
            {formatNumber(current)} of {count(all, "object")} stored at {storage}
            {stored.filter((each) => each.version !== storage && each.count > 0).map((each) => `, ${formatNumber(each.count)} at ${each.version}`)}. The CRD lists {listed.join(", ")} as stored versions.
          </p>
        </>
      )}
      {stored && all === 0 && <p class="hint">There are no objects. The CRD lists {listed.join(", ")} as stored versions.</p>}
      {!stored && <p class="hint">The CRD lists {listed.join(", ")} as stored versions. The storage version is {storage}.</p>}
      {health.level === "error" && <p class="remark error">The converter is failing: {health.message}</p>}
      {allowed === false && <p class="hint">You may not create StorageVersionMigrations.</p>}
      {problem && (
        <p class="remark error" role="alert">
          {problem}
        </p>
      )}
    </article>
  );
}

function StoredBar({ stored, total, storage, kind }: { stored: readonly { version: string; count: number }[]; total: number; storage: string; kind: string }): VNode {
  const done = stored.find((each) => each.version === storage)?.count ?? 0;
  return (
    <div class="progress" role="progressbar" aria-label={`${kind} stored at ${storage}`} aria-valuemin={0} aria-valuemax={total} aria-valuenow={done}>
      <span style={{ width: `${(100 * done) / total}%` }} />
    </div>
  );
}

function MigrationList({ migrations }: { migrations: readonly Migration[] }): VNode {
  if (!migrations.length) return <Empty title="There are no migrations yet" />;
  const sorted = [...migrations].sort((one, other) => (other.metadata.creationTimestamp ?? "").localeCompare(one.metadata.creationTimestamp ?? "") || one.metadata.name.localeCompare(other.metadata.name));
  return (
    <Scroller label="Migrations">
      <table class="migrations">
        <ColumnHeads names={["Name", "State", "Resource", "Started"]} />
        <tbody>
          {sorted.map((migration) => {
            const state = stateOf(migration);
            const { group, resource } = migration.spec.resource;
            return (
              <tr key={migration.metadata.uid}>
                <th scope="row">{migration.metadata.name}</th>
                <td>
                  <SignBadge level={state.level}>{state.label}</SignBadge>
                  {state.message && <Message text={state.message} />}
                </td>
                <td>
                  <code>{group ? `${resource}.${group}` : resource}</code>
                </td>
                <td class="nowrap">{migration.metadata.creationTimestamp ? formatTime(migration.metadata.creationTimestamp) : ""}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroller>
  );
}
