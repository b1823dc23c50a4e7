/** Schemas of kinds from OpenAPI v3, and the schema of a field. */
import type { FieldPath } from "../objects/field_path";
import { requestJson } from "./client";

export interface Schema {
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  nullable?: boolean;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  allOf?: Schema[];
  $ref?: string;
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
}

interface Document {
  components?: { schemas?: Record<string, Schema> };
}

/** The schema of a kind, with the schemas that it refers to. */
export class KindSchema {
  constructor(
    private readonly root: Schema,
    private readonly schemas: Record<string, Schema>,
  ) {}

  /** Return the schema of a field, or null if the schema says nothing about it. */
  at(path: FieldPath): Schema | null {
    let schema: Schema | null = this.resolve(this.root);
    for (const part of path) {
      if (!schema) return null;
      let next: Schema | undefined;
      if (typeof part === "number") next = schema.items;
      else {
        next = schema.properties?.[part];
        if (!next && typeof schema.additionalProperties === "object") next = schema.additionalProperties;
      }
      schema = next ? this.resolve(next) : null;
    }
    return schema;
  }

  /** Return a schema in which a reference is replaced by its target. Its own description and default win. */
  resolve(schema: Schema): Schema {
    const target = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]!.$ref : undefined);
    if (!target) return schema;
    const found = this.schemas[target.replace("#/components/schemas/", "")];
    if (!found) return schema;
    const { $ref: _, allOf: __, ...own } = schema;
    return { ...this.resolve(found), ...own };
  }
}

/** Return the type of a schema as a word: `string`, `[]object`, `map[string]integer`. */
export function typeName(kind: KindSchema, schema: Schema): string {
  if (schema["x-kubernetes-int-or-string"]) return "integer or string";
  if (schema.type === "array") return `[]${schema.items ? typeName(kind, kind.resolve(schema.items)) : "any"}`;
  if (schema.type === "object" && typeof schema.additionalProperties === "object") {
    return `map[string]${typeName(kind, kind.resolve(schema.additionalProperties))}`;
  }
  const name = schema.type ?? "any";
  return schema.format ? `${name} (${schema.format})` : name;
}

const loaded = new Map<string, Promise<Document>>();

/** Return the schema of a kind, or null if the server has none. Documents are loaded once. */
export async function loadSchema(group: string, version: string, kind: string): Promise<KindSchema | null> {
  const path = group ? `apis/${group}/${version}` : `api/${version}`;
  let document = loaded.get(path);
  if (!document) {
    document = requestJson<Document>(`/openapi/v3/${path}`);
    loaded.set(path, document);
    // A CRD can change its schema: load it again later.
    setTimeout(() => loaded.delete(path), 60_000);
    document.catch(() => loaded.delete(path));
  }
  const schemas = (await document).components?.schemas ?? {};
  const found = Object.values(schemas).find((schema) =>
    schema["x-kubernetes-group-version-kind"]?.some((gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind),
  );
  return found ? new KindSchema(found, schemas) : null;
}
