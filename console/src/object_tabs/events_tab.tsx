/** The events about an object. */
import type { VNode } from "preact";
import { useLiveObjects } from "../api/live_objects";
import { withQuery } from "../api/paths";
import type { KubeObject } from "../api/types";
import { Badge } from "../components/badges";
import { ApiFailure, Empty, Loading } from "../components/feedback";
import { ColumnHeads, Scroller } from "../components/report_parts";
import { age, formatTime } from "../format";

interface Event extends KubeObject {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  source?: { component?: string };
  reportingComponent?: string;
}

const timeOf = (event: Event): string => event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "";

export function EventsTab({ object }: { object: KubeObject }): VNode {
  // Events about objects without a namespace are in the namespace default.
  const namespace = object.metadata.namespace ?? "default";
  const path = withQuery(`/api/v1/namespaces/${namespace}/events`, { fieldSelector: `involvedObject.uid=${object.metadata.uid}` });
  const { objects, error } = useLiveObjects<Event>(path);
  if (error) return <ApiFailure error={error} what={`list events in ${namespace}`} />;
  if (!objects) return <Loading label="Loading the events" />;
  if (objects.length === 0) {
    return (
      <Empty title="There are no events about this object">
        <p>The server keeps events for an hour. New ones appear here by themselves.</p>
      </Empty>
    );
  }
  const sorted = [...objects].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
  return (
    <Scroller label="Events">
      <table>
        <ColumnHeads names={["Type", "Reason", "Message", "From", "Count", "Last seen"]} numbers={[4]} />
        <tbody>
          {sorted.map((event) => (
            <tr key={event.metadata.uid}>
              <td>
                <Badge level={event.type === "Warning" ? "warning" : "note"}>{event.type ?? "Normal"}</Badge>
              </td>
              <td>{event.reason}</td>
              <td class="message">{event.message}</td>
              <td>{event.source?.component || event.reportingComponent}</td>
              <td class="number">{event.count ?? 1}</td>
              <td class="nowrap" title={timeOf(event) && formatTime(timeOf(event))}>
                {timeOf(event) && `${age(Date.parse(timeOf(event)), Date.now())} ago`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}
