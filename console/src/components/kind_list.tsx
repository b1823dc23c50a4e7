/** All kinds whose objects can be listed, to choose one. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { isListable, kinds, type Kind } from "../api/discovery";
import { objectsPage } from "../api/paths";
import { SearchField } from "./search_field";

const SYSTEM_GROUP = /(^$)|(\.k8s\.io$)|^(apps|autoscaling|batch|policy)$/;

/** Return kinds by group: custom groups first, then the core group, then the others. */
export function groupKinds(all: readonly Kind[], wanted: string): [string, Kind[]][] {
  const found = new Map<string, Kind[]>();
  for (const kind of all) {
    const texts = [kind.kind, kind.plural, kind.group, ...kind.shortNames];
    if (!isListable(kind) || (wanted && !texts.some((text) => text.toLowerCase().includes(wanted)))) continue;
    found.set(kind.group, [...(found.get(kind.group) ?? []), kind]);
  }
  const rank = (group: string): string => `${SYSTEM_GROUP.test(group) ? (group ? 2 : 1) : 0}${group}`;
  return [...found].sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1));
}

export function KindList({ group, plural }: { group: string; plural: string }): VNode {
  const [filter, setFilter] = useState("");
  const groups = groupKinds(kinds.value ?? [], filter.trim().toLowerCase());
  return (
    <nav class="kind-list" aria-label="Kinds">
      <SearchField label="Find a kind" value={filter} onInput={setFilter} />
      <div class="kind-list-groups">
        {groups.map(([name, members]) => (
          <div key={name}>
            <h2>{name || "core"}</h2>
            <ul>
              {members.map((kind) => (
                <li key={kind.plural}>
                  <a
                    href={objectsPage({ group: name, version: kind.versions[0]!.version, plural: kind.plural })}
                    aria-current={kind.group === group && kind.plural === plural ? "page" : undefined}
                  >
                    {kind.kind}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        {groups.length === 0 && <p class="hint">No kind matches.</p>}
      </div>
    </nav>
  );
}
