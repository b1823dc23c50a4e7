/** What happens to an object if a client reads it at one version and writes it back unchanged. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ApiError, errorMessage } from "../api/client";
import { previewWrite, type ObjectAddress, type ObjectVersions } from "../api/object_versions";
import { stateDifferences, type VersionDifferences } from "../compare/version_columns";
import { count } from "../format";
import { DifferenceList } from "./difference_list";
import { Sign, type Level } from "./report_parts";

interface Trip {
  version: string;
  found: VersionDifferences[];
  error: string;
}

export function RoundTrips({ address, versions }: { address: ObjectAddress; versions: ObjectVersions }): VNode {
  const [trips, setTrips] = useState<Trip[] | null>(null);
  const [busy, setBusy] = useState(false);

  async function run(): Promise<void> {
    setBusy(true);
    const out: Trip[] = [];
    for (const { version, object } of versions.items) {
      if (!object) continue;
      try {
        const after = await previewWrite({ ...address, version }, object);
        out.push({ version, found: stateDifferences(versions, after).filter((each) => each.differences.length > 0), error: "" });
      } catch (error) {
        const forbidden = error instanceof ApiError && error.forbidden;
        out.push({ version, found: [], error: forbidden ? "You may not update this object, so the server cannot try it." : errorMessage(error) });
        if (forbidden) break;
      }
    }
    setTrips(out);
    setBusy(false);
  }

  return (
    <section aria-labelledby="round-trips">
      <div class="section-head">
        <h2 id="round-trips">Round trips</h2>
        <button type="button" disabled={busy} onClick={() => void run()}>
          {trips ? "Try again" : "Try round trips"}
        </button>
      </div>
      <p class="hint">
        A client reads the object at a version and writes it back unchanged. The server tries this with a dry run at each version and shows what would be lost. Nothing is stored.
      </p>
      {trips && (
        <div class="trips" role="status">
          {trips.map((trip) => (
            <TripCard key={trip.version} trip={trip} />
          ))}
        </div>
      )}
    </section>
  );
}

function TripCard({ trip }: { trip: Trip }): VNode {
  const level: Level = trip.error ? "warning" : trip.found.length ? "error" : "ok";
  const fields = trip.found.reduce((sum, each) => sum + each.differences.length, 0);
  return (
    <article class={`card ${level === "ok" ? "" : level}`}>
      <h3>
        <Sign level={level} />
        {trip.version}
      </h3>
      {trip.error ? <p>{trip.error}</p> : trip.found.length ? <p>Saving at {trip.version} without a change would change {count(fields, "field")}.</p> : <p>A client of {trip.version} can save the object without a loss.</p>}
      {trip.found.map((each) => (
        <div key={each.version} class="consequence">
          <p class="hint">As clients of {each.version} see it:</p>
          <DifferenceList label={`Changes at ${each.version} after saving at ${trip.version}`} differences={each.differences} words={{ removed: "lost" }} />
        </div>
      ))}
    </article>
  );
}
