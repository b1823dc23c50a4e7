/** Small coloured words. The word has the meaning; the colour only helps to find it. */
import type { ComponentChildren, VNode } from "preact";
import type { Level } from "../api/crd";

export function Badge({ level = "none", title, children }: { level?: Level; title?: string; children: ComponentChildren }): VNode {
  return (
    <span class={`badge ${level}`} title={title}>
      {children}
    </span>
  );
}

export interface VersionState {
  served: boolean;
  storage: boolean;
  deprecated?: boolean | undefined;
}

/** The states of a version as badges. */
export function VersionBadges({ served, storage, deprecated }: VersionState): VNode {
  return (
    <span class="badges">
      {storage && <Badge level="note">Storage</Badge>}
      {served ? <Badge level="ok">Served</Badge> : <Badge>Not served</Badge>}
      {deprecated && <Badge level="warning">Deprecated</Badge>}
    </span>
  );
}
