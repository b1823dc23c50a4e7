/** All kinds of the server by group. */
import type { VNode } from "preact";
import { kinds } from "../api/discovery";
import { Loading } from "../components/feedback";

export default function KindsPage(): VNode {
  if (!kinds.value) return <Loading label="Loading the kinds" />;
  return (
    <>
      <h1>Kinds</h1>
      <ul>
        {kinds.value.map((kind) => (
          <li key={`${kind.group}/${kind.plural}`}>
            {kind.kind} {kind.group}
          </li>
        ))}
      </ul>
    </>
  );
}
