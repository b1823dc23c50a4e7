/** An object as lines of YAML, each with the path of its field. */
import { stringify } from "yaml";
import { isMap, type FieldPath } from "./field_path";

/** Quote what YAML 1.1, and so kubectl, reads as another type: `yes`, `on`, `012`. */
const STYLE = { lineWidth: 0, compat: "yaml-1.1" } as const;

export interface YamlLine {
  indent: number;
  /** `- ` in front of the first line of a list item. */
  dash: boolean;
  /** The key of a map, or "" for list items and continued texts. */
  key: string;
  /** The scalar after the key, a part of a multi-line text, or "". */
  text: string;
  path: FieldPath;
}

/** Return the lines of an object. The order of keys is the server's. */
export function yamlLines(value: unknown): YamlLine[] {
  const out: YamlLine[] = [];
  if (isMap(value)) emitMap(value, 0, [], out, false);
  return out;
}

export function lineText(line: YamlLine): string {
  const key = line.key ? `${line.key}:${line.text ? " " : ""}` : "";
  return `${" ".repeat(line.indent)}${line.dash ? "- " : ""}${key}${line.text}`;
}

/** Return an object as YAML. */
export function yamlText(value: unknown): string {
  return yamlLines(value)
    .map((line) => lineText(line) + "\n")
    .join("");
}

function emitMap(map: Record<string, unknown>, indent: number, path: FieldPath, out: YamlLine[], dash: boolean): void {
  let first = dash;
  for (const [key, value] of Object.entries(map)) {
    emitField(quoted(key), value, first ? indent - 2 : indent, indent, [...path, key], out, first);
    first = false;
  }
}

/** `at` is the column of the line, `indent` the column of the key: they differ by the dash of a list item. */
function emitField(key: string, value: unknown, at: number, indent: number, path: FieldPath, out: YamlLine[], dash: boolean): void {
  const line = (text: string): YamlLine => ({ indent: at, dash, key, text, path });
  if (isMap(value) && Object.keys(value).length) {
    out.push(line(""));
    emitMap(value, indent + 2, path, out, false);
  } else if (Array.isArray(value) && value.length) {
    out.push(line(""));
    emitList(value, indent, path, out);
  } else {
    const [first = "", ...rest] = scalarLines(value);
    out.push(line(first));
    for (const text of rest) out.push({ indent: text ? indent + 2 : 0, dash: false, key: "", text, path });
  }
}

function emitList(list: readonly unknown[], indent: number, path: FieldPath, out: YamlLine[]): void {
  for (const [index, item] of list.entries()) {
    const at = [...path, index];
    if (isMap(item) && Object.keys(item).length) emitMap(item, indent + 2, at, out, true);
    else if (Array.isArray(item) && item.length) {
      out.push({ indent, dash: true, key: "", text: "", path: at });
      emitList(item, indent + 2, at, out);
    } else {
      const [first = "", ...rest] = scalarLines(item);
      out.push({ indent, dash: true, key: "", text: first, path: at });
      for (const text of rest) out.push({ indent: text ? indent + 2 : 0, dash: false, key: "", text, path: at });
    }
  }
}

/** Return the lines of a scalar. Only a text with line breaks has several. */
function scalarLines(value: unknown): string[] {
  if (isMap(value)) return ["{}"];
  if (Array.isArray(value)) return ["[]"];
  // The library indents a text in blocks below its key by two. The caller indents it as the object needs it.
  const text = stringify({ k: value }, STYLE).slice("k: ".length).replace(/\n$/, "");
  const [first = "", ...rest] = text.split("\n");
  return [first, ...rest.map((line) => line.replace(/^ {2}/, ""))];
}

function quoted(key: string): string {
  return stringify(key, STYLE).trimEnd();
}
