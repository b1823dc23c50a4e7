// A conversion webhook in TypeScript, with one of three bugs or none:
//   tsx webhook.ts CERTIFICATE KEY [falsy-zero | cache-by-name | double-precision]
// It converts Widgets: v1 has spec.size, spec.retries and spec.hosts, and v2 has spec.bytes, spec.retries and spec.hostnames.
// It prints its port and runs until its input ends.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

type Spec = Record<string, unknown>;
interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata?: { name?: string; namespace?: string };
  spec?: Spec;
}
interface ConversionReview {
  apiVersion: string;
  kind: string;
  request: { uid: string; desiredAPIVersion: string; objects: KubernetesObject[] };
}

const [certificate, key, bug = "none"] = process.argv.slice(2);
const cache = new Map<string, Spec>();

function rename(spec: Spec, from: string, to: string): void {
  if (from in spec) {
    spec[to] = spec[from];
    delete spec[from];
  }
}

function convertSpec(spec: Spec, version: string): Spec {
  const out = { ...spec };
  if (version === "v2") {
    rename(out, "size", "bytes");
    rename(out, "hosts", "hostnames");
  } else {
    rename(out, "bytes", "size");
    rename(out, "hostnames", "hosts");
  }
  if (bug === "falsy-zero" && "retries" in out) {
    out.retries = out.retries || 3;
  }
  return out;
}

function convert(object: KubernetesObject, apiVersion: string): KubernetesObject {
  const out: KubernetesObject = { ...object, apiVersion, metadata: object.metadata ?? {} };
  if (object.spec === undefined) {
    return out;
  }
  out.spec = convertSpec(object.spec, apiVersion.split("/")[1]);
  if (bug === "cache-by-name") {
    const name = `${apiVersion} ${object.metadata?.namespace}/${object.metadata?.name}`;
    if (!cache.has(name)) {
      cache.set(name, out.spec);
    }
    out.spec = cache.get(name);
  }
  return out;
}

// Integers beyond 2^53 lose digits in JSON.parse. They are kept as text, except by the bug double-precision.
const LONG = /(?<=[:[,]\s*)-?\d{16,}(?=\s*[,\]}])/g;
const MARK = "long-integer:";
const parse = (text: string): ConversionReview =>
  JSON.parse(bug === "double-precision" ? text : text.replace(LONG, (digits) => `"${MARK}${digits}"`));
const print = (value: unknown): string => JSON.stringify(value).replaceAll(new RegExp(`"${MARK}(-?\\d+)"`, "g"), "$1");

const options = { cert: readFileSync(certificate), key: readFileSync(key) };
const server = createServer(options, (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const review = parse(Buffer.concat(chunks).toString());
    const { uid, desiredAPIVersion, objects } = review.request;
    const convertedObjects = objects.map((object) => convert(object, desiredAPIVersion));
    response.setHeader("Content-Type", "application/json");
    response.end(
      print({
        apiVersion: review.apiVersion,
        kind: review.kind,
        response: { uid, convertedObjects, result: { status: "Success" } },
      }),
    );
  });
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.stdin.on("end", () => process.exit(0)).resume();
