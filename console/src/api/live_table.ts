/** A live table: the server's Table of a collection, loaded in pages and followed by a watch. */
import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { ApiError, requestJson } from "./client";
import { delay } from "./connection";
import { withQuery } from "./paths";
import { reflect } from "./reflector";
import { TableRows, type Row } from "./table_rows";
import type { ListMeta, Table, TableColumn, WatchEvent } from "./types";

const ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const FIRST_PAGE = 200;
const PAGE = 2000;
/** More rows than this are not kept: selectors find objects faster than scrolling. */
export const MAX_ROWS = 250_000;

export interface TableState {
  columns: readonly TableColumn[] | null;
  rows: readonly Row[];
  /** The number of objects in the collection, as far as the server has said. */
  total: number;
  loading: boolean;
  full: boolean;
  error: ApiError | null;
}

const INITIAL: TableState = { columns: null, rows: [], total: 0, loading: true, full: false, error: null };

export class LiveTable {
  private readonly current: Signal<TableState> = signal(INITIAL);
  private readonly closed = new AbortController();
  private run = new AbortController();
  private content = new TableRows(MAX_ROWS);
  private remaining = 0;
  private frame = 0;

  constructor(private readonly path: string) {
    this.closed.signal.addEventListener("abort", () => {
      this.run.abort();
      cancelAnimationFrame(this.frame);
    });
    this.start();
  }

  get state(): ReadonlySignal<TableState> {
    return this.current;
  }

  close(): void {
    this.closed.abort();
  }

  private start(): void {
    this.run = new AbortController();
    void reflect<Table>(
      {
        path: this.path,
        accept: ACCEPT,
        list: (signal) => this.list(signal),
        apply: (events) => this.apply(events),
        revision: (table) => table.metadata?.resourceVersion || table.rows.at(-1)?.object?.metadata.resourceVersion,
        onError: (error) => {
          this.current.value = { ...this.current.peek(), error, loading: false };
        },
      },
      this.run.signal,
    );
  }

  /** Load the first page, and the others in the background. The watch starts at the revision of the first page. */
  private async list(signal: AbortSignal): Promise<ListMeta> {
    const table = await this.page(FIRST_PAGE, "", signal);
    this.content = new TableRows(MAX_ROWS);
    this.content.addPage(table.rows);
    this.remaining = table.metadata.remainingItemCount ?? 0;
    const more = table.metadata.continue ?? "";
    if (!more) this.content.finishList();
    this.current.value = {
      columns: table.columnDefinitions ?? [],
      rows: [...this.content.rows],
      total: this.content.rows.length + this.remaining,
      loading: more !== "",
      full: false,
      error: null,
    };
    if (more) void this.loadRest(this.content, more, signal);
    return table.metadata;
  }

  private async loadRest(content: TableRows, token: string, signal: AbortSignal): Promise<void> {
    let next = token;
    while (next && !content.full && !signal.aborted && content === this.content) {
      try {
        const table = await this.page(PAGE, next, signal);
        if (content !== this.content) return;
        content.addPage(table.rows);
        next = table.metadata.continue ?? "";
        this.remaining = table.metadata.remainingItemCount ?? 0;
        this.publish();
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && error.code === 410) {
          // The server no longer has the revision of the list: start again.
          this.run.abort();
          if (!this.closed.signal.aborted) this.start();
          return;
        }
        if (error instanceof ApiError && !error.unreachable) {
          this.current.value = { ...this.current.peek(), error, loading: false };
          return;
        }
        await delay(1000, signal);
      }
    }
    if (!signal.aborted && content === this.content) {
      content.finishList();
      this.publish();
    }
  }

  private page(limit: number, token: string, signal: AbortSignal): Promise<Table> {
    const query = withQuery("", { limit, continue: token }).slice(1);
    return requestJson<Table>(`${this.path}${this.path.includes("?") ? "&" : "?"}${query}`, { accept: ACCEPT, signal });
  }

  private apply(events: WatchEvent<Table>[]): void {
    for (const { type, object } of events) {
      for (const row of object.rows) {
        if (type === "DELETED") this.content.remove(row);
        else this.content.put(row);
      }
    }
    if (events.length) this.publish();
  }

  /** Show the changes with the next frame of the browser, however many events arrive until then. */
  private publish(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const rows = [...this.content.rows];
      const state = this.current.peek();
      const loading = this.remaining > 0 && !this.content.full;
      this.current.value = { ...state, rows, loading, full: this.content.full, total: rows.length + this.remaining, error: null };
    });
  }
}
