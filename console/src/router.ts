/** The address bar as a signal, and routes: patterns such as `/kinds/:group/:plural`. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

const ROOT = "/console";

export interface Place {
  /** The path below /console, such as `/kinds`. */
  path: string;
  query: URLSearchParams;
}

export type Params = Readonly<Record<string, string>>;

export interface PageProps {
  params: Params;
  query: URLSearchParams;
}

export interface Route {
  pattern: string;
  title: (params: Params) => string;
  /** Load the page. Each page is a file of its own, loaded at its first use. */
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

function readPlace(): Place {
  return { path: window.location.pathname.slice(ROOT.length) || "/", query: new URLSearchParams(window.location.search) };
}

export const place = signal<Place>(readPlace());

/** Go to a page of the console, such as /console/kinds. With `replace`, the browser's history gets no new entry. */
export function navigate(url: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  place.value = readPlace();
}

/** Set or remove parameters of the current address. */
export function setQuery(changes: Record<string, string>, options: { replace?: boolean } = { replace: true }): void {
  const query = new URLSearchParams(place.peek().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  navigate(window.location.pathname + (text ? `?${text}` : ""), options);
}

/** Follow the browser's history, and let plain links to pages of the console change the page without a reload. */
export function startRouter(): void {
  window.addEventListener("popstate", () => {
    place.value = readPlace();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.composedPath().find((node): node is HTMLAnchorElement => node instanceof HTMLAnchorElement);
    if (!link || link.target || link.download || link.origin !== window.location.origin) return;
    if (!link.pathname.startsWith(`${ROOT}/`) || link.hash) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

/** Return the parameters of a path that matches a pattern, else null. */
export function match(pattern: string, path: string): Params | null {
  const wanted = pattern.split("/").filter(Boolean);
  const given = path.split("/").filter(Boolean);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index]!;
    if (part.startsWith(":")) params[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return null;
  }
  return params;
}
