/** YAML that a user edits: its value, its first error, and the field at a position. */
import { isMap as isYamlMap, isScalar, isSeq, parseDocument, type Node, type Pair } from "yaml";
import { isMap, type FieldPath, type JsonMap } from "./field_path";

export interface Parsed {
  value: JsonMap | null;
  /** The first error, or "". */
  error: string;
  /** The position of the error. */
  at: number;
}

export function parseYaml(text: string): Parsed {
  const document = parseDocument(text, { prettyErrors: true });
  const error = document.errors[0];
  if (error) return { value: null, error: error.message.split("\n")[0]!.replace(/:$/, ""), at: error.pos[0] };
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (!isMap(value)) return { value: null, error: "The document is not an object.", at: 0 };
  return { value, error: "", at: 0 };
}

/** Return the path of the field at a position of the text. */
export function pathAt(text: string, position: number): FieldPath {
  const document = parseDocument(text, { keepSourceTokens: true });
  const path: (string | number)[] = [];
  let node: Node | null = document.contents as Node | null;
  while (node) {
    let next: Node | null = null;
    if (isYamlMap(node)) {
      const pairs = node.items as Pair<Node, Node | null>[];
      // The field is the last one that starts before the position.
      const pair = pairs.filter((item) => (item.key?.range?.[0] ?? Infinity) <= position).at(-1);
      if (pair && isScalar(pair.key)) {
        path.push(String(pair.key.value));
        const start = pair.value?.range?.[0];
        if (start !== undefined && start <= position) next = pair.value;
      }
    } else if (isSeq(node)) {
      const items = node.items as Node[];
      const index = items.findLastIndex((item) => (item?.range?.[0] ?? Infinity) <= position);
      if (index >= 0) {
        path.push(index);
        next = items[index] ?? null;
      }
    }
    node = next;
  }
  return path;
}
