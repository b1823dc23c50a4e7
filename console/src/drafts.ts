/**
 * Unsaved edits. They are kept in sessionStorage, so that they survive a reload, a visit of another page and a new
 * sign-in. A tab that is closed and a user who signs out forget them.
 */
import { useRef, useState } from "preact/hooks";
import { user } from "./api/session";

const PREFIX = "polykind.draft ";

interface Draft<T> {
  text: string;
  /** The text when the edit began. */
  original: string;
  /** What the page knew about the object when the edit began. */
  start: T;
}

export interface Editing<T> extends Draft<T> {
  /** True if the edit was begun earlier, and `text` is what the user had written. */
  restored: boolean;
  /** Changes when an edit is begun again, as the key of the editor. */
  round: number;
  /** Keep a new text. */
  keep: (text: string) => void;
  /** Forget the edit after it was saved or cancelled. */
  discard: () => void;
  /** Forget the edit, and begin again. */
  restart: () => void;
}

/** The key of a draft: the user, and the address of the page on which the user edits. */
const keyOf = (page: string): string => `${PREFIX}${user.peek()?.name ?? ""} ${page}`;

function readDraft<T>(page: string): Draft<T> | null {
  const stored = sessionStorage.getItem(keyOf(page));
  return stored === null ? null : (JSON.parse(stored) as Draft<T>);
}

export const hasDraft = (page: string): boolean => sessionStorage.getItem(keyOf(page)) !== null;

export const discardDraft = (page: string): void => sessionStorage.removeItem(keyOf(page));

export function discardAllDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}

/** Continue the draft of a page, or begin an edit. */
export function useDraft<T>(page: string, begin: () => { original: string; start: T }): Editing<T> {
  const first = (): Draft<T> & { restored: boolean } => {
    const draft = readDraft<T>(page);
    if (draft) return { ...draft, restored: true };
    const { original, start } = begin();
    return { original, start, text: original, restored: false };
  };
  const [edit, setEdit] = useState(first);
  const round = useRef(0);
  return {
    ...edit,
    round: round.current,
    keep: (text) => {
      if (text === edit.original) discardDraft(page);
      else store(page, { text, original: edit.original, start: edit.start });
    },
    discard: () => discardDraft(page),
    restart: () => {
      discardDraft(page);
      round.current += 1;
      setEdit(first());
    },
  };
}

function store(page: string, draft: Draft<unknown>): void {
  try {
    sessionStorage.setItem(keyOf(page), JSON.stringify(draft));
  } catch {
    // The object is larger than the browser's storage: the edit lives as long as its page.
    discardDraft(page);
  }
}
