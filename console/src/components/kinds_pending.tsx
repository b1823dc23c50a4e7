/** What a page shows until the kinds of the server are known. */
import type { VNode } from "preact";
import { discoveryError, kinds, loadKinds } from "../api/discovery";
import { Failure, Loading } from "./feedback";

/** Return what to show instead of the page, or null if the kinds are known. */
export function kindsPending(): VNode | null {
  if (kinds.value) return null;
  if (discoveryError.value) {
    return (
      <Failure page title="Cannot load the kinds" message={discoveryError.value}>
        <div class="actions">
          <button type="button" onClick={() => void loadKinds()}>
            Try again
          </button>
        </div>
      </Failure>
    );
  }
  return <Loading label="Loading the kinds" />;
}
