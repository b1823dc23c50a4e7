/** Virtual scrolling: the rows near the visible part of a long list. */

export interface VisibleRows {
  first: number;
  /** The index after the last row. */
  end: number;
}

const OVERSCAN = 12;

/** Return the rows to render for a scroll position. */
export function visibleRows(scrollTop: number, height: number, rowHeight: number, total: number): VisibleRows {
  const first = Math.max(0, Math.min(total - 1, Math.floor(scrollTop / rowHeight)) - OVERSCAN);
  const end = Math.min(total, Math.ceil((scrollTop + height) / rowHeight) + OVERSCAN);
  return { first: total ? first : 0, end: Math.max(end, Math.min(total, first + 1)) };
}

/** Return the scroll position that shows a row, or the current one if the row is visible. */
export function scrollToRow(index: number, scrollTop: number, height: number, rowHeight: number, headHeight: number): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  const bottom = top + rowHeight + headHeight;
  return bottom > scrollTop + height ? bottom - height : scrollTop;
}
