/** Reports of `polykind prove`, `check` and `rehearse`, opened from a file. The file stays in the browser. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { errorMessage } from "../api/client";
import { readReport, type Report } from "../compare/reports";
import { CheckView } from "../components/check_view";
import { FileInput } from "../components/file_input";
import { PageHead } from "../components/page_head";
import { ProofView } from "../components/proof_view";
import { RehearsalView } from "../components/rehearsal_view";
import "../styles/compare.css";

export default function ReportsPage(): VNode {
  const [opened, setOpened] = useState<{ report: Report; name: string } | null>(null);
  const [problem, setProblem] = useState("");
  const open = (text: string, name: string): void => {
    try {
      setOpened({ report: readReport(text), name });
      setProblem("");
    } catch (error) {
      setOpened(null);
      setProblem(`${name}: ${errorMessage(error)}`);
    }
  };
  return (
    <>
      <PageHead title="Reports" note="What polykind prove, check and rehearse have found. The file stays in this browser: nothing is sent to the server." />
      <FileInput label="Open a report" accept=".json,application/json" onText={open}>
        <span class="hint">{opened ? opened.name : "or drop a JSON file here"}</span>
      </FileInput>
      {problem && (
        <p class="remark error" role="alert">
          {problem}
        </p>
      )}
      {!opened && <Commands />}
      {opened?.report.kind === "prove" && <ProofView report={opened.report} />}
      {opened?.report.kind === "check" && <CheckView report={opened.report} />}
      {opened?.report.kind === "rehearse" && <RehearsalView report={opened.report} />}
    </>
  );
}

function Commands(): VNode {
  const commands: readonly [string, string][] = [
    ["polykind prove --crd crd.yaml --converter conversions:backups --json > prove.json", "Which objects do the conversions lose or change?"],
    ["polykind check old.yaml new.yaml --objects objects.json --json > check.json", "What does a new release of the CRD break?"],
    ["polykind rehearse --crd 1.0.yaml --crd 2.0.yaml --converter conversions:backups objects --json > rehearse.json", "What happens during the upgrade, and on the way back?"],
  ];
  return (
    <section aria-labelledby="commands">
      <h2 id="commands">Make a report</h2>
      {commands.map(([command, question]) => (
        <div key={command} class="consequence">
          <p>{question}</p>
          <pre class="code" tabIndex={0} role="region" aria-label={question}>
            <code>{command}</code>
          </pre>
        </div>
      ))}
    </section>
  );
}
