/** All pages. To add one, add a route here, and an entry to `NAVIGATION` if the header shall show it. */
import type { Route } from "./router";

export const ROUTES: readonly Route[] = [
  { pattern: "/kinds", title: () => "Kinds", load: () => import("./pages/kinds_page") },
  { pattern: "/kinds/:group/:plural", title: (params) => params["plural"]!, load: () => import("./pages/kind_page") },
  { pattern: "/objects", title: () => "Objects", load: () => import("./pages/objects_home_page") },
  { pattern: "/objects/:group/:version/:plural", title: (params) => params["plural"]!, load: () => import("./pages/objects_page") },
  {
    pattern: "/objects/:group/:version/:plural/:namespace/:name",
    title: (params) => params["name"]!,
    load: () => import("./pages/object_page"),
  },
  {
    pattern: "/create/:group/:version/:plural",
    title: (params) => `Create ${params["plural"]!}`,
    load: () => import("./pages/create_page"),
  },
  { pattern: "/compare/:group/:plural/:namespace/:name", title: (params) => `${params["name"]!} at all versions`, load: () => import("./pages/compare_page") },
  { pattern: "/schemas/:group/:plural", title: (params) => `Schemas of ${params["plural"]!}`, load: () => import("./pages/schemas_page") },
  { pattern: "/migrations", title: () => "Migrations", load: () => import("./pages/migrations_page") },
  { pattern: "/server", title: () => "Server", load: () => import("./pages/server_page") },
  { pattern: "/reports", title: () => "Reports", load: () => import("./pages/reports_page") },
];

export interface NavigationEntry {
  label: string;
  href: string;
  /** The entry is marked as current on paths below /console that start with one of these. */
  prefixes: readonly string[];
}

export const NAVIGATION: readonly NavigationEntry[] = [
  { label: "Kinds", href: "/console/kinds", prefixes: ["/kinds", "/schemas"] },
  { label: "Objects", href: "/console/objects", prefixes: ["/objects", "/create", "/compare"] },
  { label: "Migrations", href: "/console/migrations", prefixes: ["/migrations"] },
  { label: "Reports", href: "/console/reports", prefixes: ["/reports"] },
  { label: "Server", href: "/console/server", prefixes: ["/server"] },
];

/** The page for /console/. */
export const HOME = "/console/kinds";
