/** A modal dialog. The browser keeps the focus inside it. Without `onClose`, it stays on Escape. */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export function Dialog({ title, onClose, children }: { title: string; onClose?: () => void; children: ComponentChildren }): VNode {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    element.current?.showModal();
  }, []);
  const close = onClose ?? ((): void => element.current?.showModal());
  return (
    <dialog ref={element} aria-labelledby={id} onClose={close} onCancel={(event) => !onClose && event.preventDefault()}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
