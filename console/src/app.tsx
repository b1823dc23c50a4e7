/** The frame of all pages: header, navigation, and the page of the current address. */
import type { ComponentType, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { loadKinds } from "./api/discovery";
import { stopAllWatches } from "./api/live_objects";
import { phase, sessionExpired, user } from "./api/session";
import { Header } from "./components/header";
import { ErrorBoundary } from "./components/error_boundary";
import { Failure, Loading, NotFound } from "./components/feedback";
import { SignInDialog, SignInPage } from "./pages/sign_in_page";
import { match, place, type PageProps, type Params } from "./router";
import { ROUTES } from "./routes";

export function App(): VNode {
  const signedIn = phase.value === "signed-in";
  useEffect(() => {
    if (signedIn) void loadKinds();
    else stopAllWatches();
  }, [signedIn, user.value?.name]);
  if (phase.value === "starting") return <Loading label="Connecting" />;
  if (!signedIn) return <SignInPage />;
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Header />
      <Outlet />
      {sessionExpired.value && <SignInDialog />}
    </>
  );
}

interface Loaded {
  pattern: string;
  /** Null if the file of the page cannot be loaded. */
  page: ComponentType<PageProps> | null;
}

/** The page of the current address, loaded at its first use. */
function Outlet(): VNode {
  const { path, query } = place.value;
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const main = useRef<HTMLElement>(null);
  const firstPage = useRef(true);
  let found: { route: (typeof ROUTES)[number]; params: Params } | null = null;
  for (const route of ROUTES) {
    const params = match(route.pattern, path);
    if (params) {
      found = { route, params };
      break;
    }
  }
  const route = found?.route;
  const title = found ? found.route.title(found.params) : "Not found";
  useEffect(() => {
    if (!route) return;
    route.load().then(
      (module) => setLoaded({ pattern: route.pattern, page: module.default }),
      () => setLoaded({ pattern: route.pattern, page: null }),
    );
  }, [route]);
  useEffect(() => {
    document.title = `${title} · Polykind`;
    // Move the focus to the new page, so that screen readers read it. The first page has it anyway.
    if (firstPage.current) firstPage.current = false;
    else main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [path]);
  let content: VNode;
  if (!found) content = <NotFound />;
  else if (!loaded || loaded.pattern !== found.route.pattern) content = <Loading label="Loading the page" />;
  else if (loaded.page) content = <loaded.page params={found.params} query={query} />;
  else content = <NotLoaded />;
  return (
    <main id="content" tabIndex={-1} ref={main}>
      <ErrorBoundary key={path}>{content}</ErrorBoundary>
    </main>
  );
}

function NotLoaded(): VNode {
  return (
    <Failure page title="The page cannot be loaded" message="The server does not answer, or it was upgraded since you opened the console. Unsaved edits are kept.">
      <div class="actions">
        <button type="button" onClick={() => window.location.reload()}>
          Load again
        </button>
      </div>
    </Failure>
  );
}
