/** What has changed since the page was opened, the latest change first. */
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { KubeObject } from "../api/types";
import { DiffView } from "../components/diff_view";
import { Empty } from "../components/feedback";
import { formatTime } from "../format";
import { hideSecretValues } from "../objects/secret_values";
import { lineText, yamlLines } from "../objects/yaml_lines";
import type { HistoryEntry } from "./object_history";

export function HistoryTab({ entries }: { entries: readonly HistoryEntry[] }): VNode {
  const changes = entries.slice(1).map((entry, index) => ({ entry, before: entries[index]! })).reverse();
  if (changes.length === 0) {
    return (
      <Empty title="Nothing has changed since you opened this page">
        <p>Changes appear here as they happen. The server keeps no older states.</p>
      </Empty>
    );
  }
  return (
    <ol class="changes" aria-label="Changes">
      {changes.map(({ entry, before }) => (
        <li key={entry.resourceVersion}>
          <figure>
            <figcaption>
              <strong>{formatTime(entry.seen)}</strong>
              {entry.writers.length > 0 && <span>written by {entry.writers.join(", ")}</span>}
              <span>
                resourceVersion {before.resourceVersion} → {entry.resourceVersion}
              </span>
            </figcaption>
            <ChangeView before={before.object} after={entry.object} label={`Change ${entry.resourceVersion}`} />
          </figure>
        </li>
      ))}
    </ol>
  );
}

function ChangeView({ before, after, label }: { before: KubeObject; after: KubeObject; label: string }): VNode {
  const [old, current] = useMemo(
    () => [hideSecretValues(before), hideSecretValues(after, before)].map((object) => yamlLines(object).map(lineText)),
    [before, after],
  );
  return <DiffView before={old!} after={current!} label={label} />;
}
