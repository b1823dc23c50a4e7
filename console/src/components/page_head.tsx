/** The head of a page: where it is, its title, and its actions. */
import type { ComponentChildren, VNode } from "preact";

export interface Crumb {
  label: string;
  href: string;
}

export function PageHead(props: {
  title: ComponentChildren;
  crumbs?: readonly Crumb[];
  note?: ComponentChildren;
  children?: ComponentChildren;
}): VNode {
  return (
    <div class="head">
      <div class="head-title">
        {props.crumbs && props.crumbs.length > 0 && (
          <nav class="crumbs" aria-label="Path">
            <ol>
              {props.crumbs.map((crumb) => (
                <li key={crumb.href}>
                  <a href={crumb.href}>{crumb.label}</a>
                </li>
              ))}
            </ol>
          </nav>
        )}
        <h1>{props.title}</h1>
        {props.note && <div class="hint">{props.note}</div>}
      </div>
      {props.children && <div class="actions">{props.children}</div>}
    </div>
  );
}
