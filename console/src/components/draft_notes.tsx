/** What a page says about unsaved edits. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { discardDraft, hasDraft, type Editing } from "../drafts";

/** Says in an editor that it shows an edit that was begun earlier. */
export function RestoredNote({ draft, onDiscard }: { draft: Editing<unknown>; onDiscard: () => void }): VNode | null {
  if (!draft.restored) return null;
  return (
    <div class="remark note with-actions" role="status">
      <p>This is your unsaved edit.</p>
      <button type="button" onClick={onDiscard}>
        Discard it
      </button>
    </div>
  );
}

/** Says on the page of an object that an edit is not saved yet. `page` is the address of the editor. */
export function UnsavedEdit({ page, version = "" }: { page: string; version?: string }): VNode | null {
  const [discarded, setDiscarded] = useState(false);
  if (discarded || !hasDraft(page)) return null;
  const discard = (): void => {
    discardDraft(page);
    setDiscarded(true);
  };
  return (
    <div class="remark note with-actions" role="status">
      <p>You have an unsaved edit{version && ` at ${version}`}.</p>
      <a class="button" href={page}>
        Continue
      </a>
      <button type="button" onClick={discard}>
        Discard it
      </button>
    </div>
  );
}
