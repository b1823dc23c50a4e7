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

export function Failure({ title, message, children }: { title: string; message: string; children?: ComponentChildren }): VNode {
  return (
    <div class="failure remark error" role="alert">
      <h2>{title}</h2>
      <p>{message}</p>
      {children}
    </div>
  );
}

/** An error response: a missing permission is shown as such. */
export function ApiFailure({ error, what }: { error: ApiError; what: string }): VNode {
  if (error.forbidden) {
    return (
      <div class="failure remark note" role="status">
        <h2>You may not {what}</h2>
        <p>{error.message}</p>
      </div>
    );
  }
  return <Failure title={`Cannot ${what}`} message={error.message} />;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function NotFound(): VNode {
  return (
    <Empty title="There is no such page">
      <p>
        <a href="/console/kinds">Go to the kinds</a>
      </p>
    </Empty>
  );
}
