import { expect, it } from "vitest";
import { parse } from "yaml";
import { yamlLines, yamlText } from "./yaml_lines";

const object = {
  apiVersion: "v1",
  metadata: { name: "a", annotations: { "example.com/x": "yes", number: "12", "": "empty key" }, labels: {} },
  spec: {
    items: [{ name: "a", ports: [{ p: 1 }, { p: 2 }] }, { name: "b" }, {}, [], [[1, 2], ["x"]], null, true],
    text: "one\n  two\n\nthree\n",
    noEnd: "a\nb",
    trailing: "a\n\n\n",
    quoted: "yes: no # x",
    empty: "",
    words: ["yes", "on", "012", "1:30", "2026-01-01", "null", "~", "1e3"],
    list: ["a\nb\n", "\n c"],
    long: "word ".repeat(60).trim(),
    float: 1.5,
    leading: " x",
    dash: "- x",
    start: "\n  indented first",
  },
};

it("is YAML that reads as the object", () => {
  expect(parse(yamlText(object))).toEqual(object);
  expect(parse(yamlText(object), { version: "1.1" })).toEqual(object);
});

it("knows the path of each line", () => {
  const lines = yamlLines({ spec: { items: [{ name: "a", n: 1 }], text: "x\ny\n" } });
  expect(lines.map((line) => line.path.join("."))).toEqual(["spec", "spec.items", "spec.items.0.name", "spec.items.0.n", "spec.text", "spec.text", "spec.text"]);
});
