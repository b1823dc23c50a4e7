/** The rows of a live table in the order of their keys. Lists and watch events can arrive in any order. */
import type { KubeObject, TableRow } from "./types";

export interface Row {
  /** namespace/name, or the name of a cluster-wide object: the server's own order. */
  key: string;
  namespace: string;
  name: string;
  /** The time of the creation in milliseconds. */
  created: number;
  deleting: boolean;
  cells: readonly unknown[];
}

function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace ? `${namespace}/${name}` : name;
}

/** Return the part of a row that the table shows. The object's metadata is dropped, because it would fill the memory. */
export function readRow(row: TableRow): Row {
  const object = row.object!;
  const { namespace, name, creationTimestamp, deletionTimestamp } = object.metadata;
  return {
    key: keyOf(object),
    namespace: namespace ?? "",
    name,
    created: creationTimestamp ? Date.parse(creationTimestamp) : 0,
    deleting: deletionTimestamp !== undefined,
    cells: row.cells,
  };
}

export class TableRows {
  private readonly byKey = new Map<string, Row>();
  private ordered: Row[] = [];
  /** Keys that a watch has changed while the list was loaded: the later pages of the list are older. */
  private touched: Set<string> | null = new Set();

  constructor(private readonly limit: number) {}

  get rows(): readonly Row[] {
    return this.ordered;
  }

  get full(): boolean {
    return this.ordered.length >= this.limit;
  }

  /** Append a page of the list. Pages arrive in the order of keys. */
  addPage(rows: readonly TableRow[]): void {
    let sorted = true;
    for (const raw of rows) {
      const row = readRow(raw);
      if (this.touched?.has(row.key) || this.byKey.has(row.key) || this.full) continue;
      this.byKey.set(row.key, row);
      const last = this.ordered.at(-1);
      if (last && last.key > row.key) sorted = false;
      this.ordered.push(row);
    }
    if (!sorted) this.ordered.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** The whole list is loaded: from now on, watch events alone change the rows. */
  finishList(): void {
    this.touched = null;
  }

  /** Add or replace a row. */
  put(raw: TableRow): void {
    const row = readRow(raw);
    this.touched?.add(row.key);
    const known = this.byKey.has(row.key);
    if (!known && this.full) return;
    this.byKey.set(row.key, row);
    const at = this.position(row.key);
    if (known) this.ordered[at] = row;
    else this.ordered.splice(at, 0, row);
  }

  remove(raw: TableRow): void {
    const key = keyOf(raw.object!);
    this.touched?.add(key);
    if (this.byKey.delete(key)) this.ordered.splice(this.position(key), 1);
  }

  /** Return the index of a key, or the index at which it would be inserted. */
  private position(key: string): number {
    let low = 0;
    let high = this.ordered.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ordered[middle]!.key < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
