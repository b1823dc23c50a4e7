/** The choice of a kind whose objects to show. */
import type { VNode } from "preact";
import { Empty } from "../components/feedback";
import { KindList } from "../components/kind_list";
import { kindsPending } from "../components/kinds_pending";

export default function ObjectsHomePage(): VNode {
  const pending = kindsPending();
  if (pending) return pending;
  return (
    <div class="with-kinds home">
      <KindList group="" plural="" />
      <div class="page-body">
        <h1 class="hidden-text">Objects</h1>
        <Empty title="Choose a kind">
          <p>Its objects appear here, and stay up to date.</p>
        </Empty>
      </div>
    </div>
  );
}
