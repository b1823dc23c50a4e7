/** A place to open a text file: a picker, and the target of a drop. The file stays in the browser. */
import type { ComponentChildren, VNode } from "preact";
import { useRef, useState } from "preact/hooks";

export function FileInput(props: { label: string; accept: string; onText: (text: string, name: string) => void; children?: ComponentChildren }): VNode {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const read = (file: File | undefined): void => {
    if (file) void file.text().then((text) => props.onText(text, file.name));
  };
  return (
    <div
      class={over ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        read(event.dataTransfer?.files[0]);
      }}
    >
      <button type="button" class="primary" onClick={() => input.current?.click()}>
        {props.label}
      </button>
      <input
        ref={input}
        class="hidden-text"
        type="file"
        tabIndex={-1}
        aria-label={props.label}
        accept={props.accept}
        onChange={(event) => {
          read(event.currentTarget.files?.[0]);
          event.currentTarget.value = "";
        }}
      />
      {props.children}
    </div>
  );
}
