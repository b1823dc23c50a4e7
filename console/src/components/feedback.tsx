/** What a page shows instead of data: progress, errors, missing permissions, nothing found. */
import type { ComponentChildren, VNode } from "preact";
import type { ApiError } from "../api/client";

/** A quiet sign of progress. It appears after a moment, so that fast pages do not flicker. */
export function Loading({ label }: { label: string }): VNode {
  return (
    <div class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      <span>{label}…</span>
    </div>
  );
}

interface Whole {
  /** True if this is all that the page shows, so that its title is the heading of the page. */
  page?: boolean;
}

export function Failure({ title, message, page, children }: { title: string; message: string; children?: ComponentChildren } & Whole): VNode {
  const Title = page ? "h1" : "h2";
  return (
    <div class="failure remark error" role="alert">
      <Title>{title}</Title>
      <p>{message}</p>
      {children}
    </div>
  );
}

const LONG = 240;

/** A message. Only the beginning of a long one is shown until the user opens it. */
export function Message({ text }: { text: string }): VNode {
  if (text.length <= LONG) return <p class="hint">{text}</p>;
  return (
    <details class="hint long-message">
      <summary>{text.slice(0, LONG)}…</summary>
      <p>{text.slice(LONG)}</p>
    </details>
  );
}

/** An error response: a missing permission is shown as such. */
export function ApiFailure({ error, what, page = false }: { error: ApiError; what: string } & Whole): VNode {
  const Title = page ? "h1" : "h2";
  if (error.forbidden) {
    return (
      <div class="failure remark note" role="status">
        <Title>You may not {what}</Title>
        <p>{error.message}</p>
      </div>
    );
  }
  return <Failure page={page} title={`Cannot ${what}`} message={error.message} />;
}

/** Says that there is nothing to show. */
export function Empty({ title, page, children }: { title: string; children?: ComponentChildren } & Whole): VNode {
  const Title = page ? "h1" : "p";
  return (
    <div class="empty">
      <Title class="empty-title">{title}</Title>
      {children}
    </div>
  );
}

export function NotFound(): VNode {
  return (
    <Empty page title="There is no such page">
      <p>
        <a href="/console/kinds">Go to the kinds</a>
      </p>
    </Empty>
  );
}
