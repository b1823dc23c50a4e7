/** The confirmation of a deletion. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { errorMessage } from "../api/client";
import { deleteObject, type Propagation } from "../api/objects";
import type { KubeObject } from "../api/types";
import { Dialog } from "../components/dialog";
import type { ObjectAddress } from "../pages/object_page";

const POLICIES: readonly [Propagation, string][] = [
  ["Background", "Delete its dependents afterwards"],
  ["Foreground", "Delete its dependents first"],
  ["Orphan", "Keep its dependents"],
];

export function DeleteDialog({ address, object, onClose }: { address: ObjectAddress; object: KubeObject; onClose: () => void }): VNode {
  const [policy, setPolicy] = useState<Propagation>("Background");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const { kind, namespace, name, resource } = address;
  const finalizers = object.metadata.finalizers ?? [];

  async function confirm(): Promise<void> {
    setBusy(true);
    try {
      await deleteObject(resource, namespace, name, object.metadata.uid ?? "", policy);
      onClose();
    } catch (failure) {
      setError(errorMessage(failure));
      setBusy(false);
    }
  }

  return (
    <Dialog title={`Delete ${kind.kind} ${name}?`} onClose={onClose}>
      {finalizers.length > 0 && (
        <p class="remark note">It stays until these finalizers are removed: {finalizers.join(", ")}.</p>
      )}
      <fieldset class="menu-choice">
        <legend>Objects that it owns</legend>
        {POLICIES.map(([value, label]) => (
          <label key={value}>
            <input type="radio" name="policy" checked={policy === value} onChange={() => setPolicy(value)} />
            {label}
          </label>
        ))}
      </fieldset>
      {error && (
        <p class="remark error" role="alert">
          {error}
        </p>
      )}
      <div class="dialog-actions">
        <button type="button" autofocus onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="danger" disabled={busy} onClick={() => void confirm()}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
