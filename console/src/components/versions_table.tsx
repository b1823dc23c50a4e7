/** The versions of a CRD: their states, stored objects, clients, and what stands in the way of removing each. */
import type { VNode } from "preact";
import type { Crd } from "../api/crd";
import { kindPage, objectsPage } from "../api/paths";
import type { ReportState, VersionUse } from "../api/version_report";
import { count, formatNumber } from "../format";
import { Badge, VersionBadges } from "./badges";

export function VersionsTable({ crd, state }: { crd: Crd; state: ReportState }): VNode {
  const { group, names, versions } = crd.spec;
  const total = state.report?.versions.reduce((sum, version) => sum + version.storedObjects, 0) ?? 0;
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label={`Versions of ${names.kind}`}>
      <table class="versions">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">State</th>
            <th scope="col">Stored objects</th>
            <th scope="col">Clients</th>
            <th scope="col">Removal</th>
          </tr>
        </thead>
        <tbody>
          {versions.map((version) => {
            const use = state.report?.versions.find((entry) => entry.name === version.name);
            return (
              <tr key={version.name}>
                <th scope="row">
                  {version.served ? (
                    <a href={objectsPage({ group, version: version.name, plural: names.plural })}>{version.name}</a>
                  ) : (
                    version.name
                  )}
                </th>
                <td>
                  <VersionBadges served={version.served} storage={version.storage} deprecated={version.deprecated} />
                </td>
                <td data-unit="stored">{use ? <StoredObjects stored={use.storedObjects} total={total} /> : <Pending state={state} />}</td>
                <td data-unit={use?.clients.length === 1 ? "client" : "clients"}>{use ? formatNumber(use.clients.length) : <Pending state={state} />}</td>
                <td>{use ? <Removal use={use} href={kindPage(group, names.plural)} /> : <Pending state={state} />}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Pending({ state }: { state: ReportState }): VNode {
  if (!state.error) return <span class="pending" aria-label="loading" role="img" />;
  return <span class="hint">{state.error.forbidden ? "not allowed" : "unknown"}</span>;
}

function StoredObjects({ stored, total }: { stored: number; total: number }): VNode {
  return (
    <span class="stored">
      <span class="stored-number">{formatNumber(stored)}</span>
      <span class="meter" aria-hidden="true">
        <span style={{ width: total ? `${(100 * stored) / total}%` : "0" }} />
      </span>
    </span>
  );
}

function Removal({ use, href }: { use: VersionUse; href: string }): VNode {
  if (use.hindrances.length === 0) return <Badge level="ok">Can be removed</Badge>;
  return (
    <a class="quiet-link" href={href} title={use.hindrances.join("\n")}>
      {count(use.hindrances.length, "obstacle")}
    </a>
  );
}
