/** What has changed since the page was opened, the latest change first. */
import type { VNode } from "preact";
import { DiffView } from "../components/diff_view";
import { Empty } from "../components/feedback";
import { formatTime } from "../format";
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
            <DiffView before={before.lines} after={entry.lines} label={`Change ${entry.resourceVersion}`} />
          </figure>
        </li>
      ))}
    </ol>
  );
}
