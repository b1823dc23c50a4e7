/**
 * A YAML editor (CodeMirror 6). This module is loaded when an object is edited.
 *
 * It lives in a shadow root: there CodeMirror uses constructed style sheets, which the Content-Security-Policy allows.
 */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { FieldPath } from "../objects/field_path";
import { parseYaml, pathAt } from "../objects/yaml_document";

const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "var(--text-small)", maxHeight: "min(62vh, 46rem)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-code)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content, .cm-gutter": { minHeight: "14rem" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface-sunken)", color: "var(--text-muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--note-surface) 45%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--note-surface)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  // CodeMirror's own marks are images in data: URLs, which the Content-Security-Policy does not allow.
  ".cm-lint-marker-error": { content: "normal", width: "0.65em", height: "0.65em", margin: "0.45em 0.2em", borderRadius: "50%", backgroundColor: "var(--error)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--error)", textDecorationSkipInk: "none" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--border)" },
  ".cm-panels input, .cm-panels button": { font: "inherit", color: "inherit", background: "var(--surface)" },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--note)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--warning)" },
  { tag: tags.comment, color: "var(--text-muted)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator], color: "var(--text-muted)" },
]);

export interface EditorOptions {
  label: string;
  text: string;
  onChange: (text: string) => void;
  onField: (path: FieldPath) => void;
  onSave: () => void;
}

/** Create an editor in an element. Return a function that removes it. */
export function createEditor(host: HTMLElement, options: EditorOptions): () => void {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of("  "),
        highlightActiveLine(),
        highlightSelectionMatches(),
        yaml(),
        syntaxHighlighting(COLOURS),
        linter(findErrors, { delay: 300 }),
        lintGutter(),
        EditorView.contentAttributes.of({ "aria-label": options.label }),
        keymap.of([
          { key: "Mod-s", preventDefault: true, run: () => (options.onSave(), true) },
          // Escape, then Tab leaves the editor, as CodeMirror documents it for keyboard users.
          ...defaultKeymap,
          ...historyKeymap,
          ...searchKeymap,
          indentWithTab,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onChange(update.state.doc.toString());
          if (!update.docChanged && !update.selectionSet) return;
          clearTimeout(timer);
          timer = setTimeout(() => {
            const { state } = view;
            options.onField(pathAt(state.doc.toString(), state.selection.main.head));
          }, 60);
        }),
        THEME,
      ],
    }),
  });
  view.focus();
  return (): void => {
    clearTimeout(timer);
    view.destroy();
  };
}

function findErrors(view: EditorView): Diagnostic[] {
  const { error, at } = parseYaml(view.state.doc.toString());
  if (!error) return [];
  const position = Math.min(at, view.state.doc.length);
  const line = view.state.doc.lineAt(position);
  return [{ from: line.from, to: line.to, severity: "error", message: error }];
}
