/** A line plot over time. A table with the same values is below it. */
import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { linePath, niceLimit, scale, tickValues, type Point } from "../compare/plot_scale";

export interface Series {
  name: string;
  points: readonly Point[];
  level: "note" | "ok" | "warning" | "error";
  dashed?: boolean;
}

const HEIGHT = 170;
const MARGIN = { left: 58, right: 12, top: 10, bottom: 24 };
const MIN_SPAN = 60_000;

/** With `whole`, all values are whole numbers, and so are the ticks. */
export function Plot({ title, series, format, whole = false }: { title: string; series: readonly Series[]; format: (value: number) => string; whole?: boolean }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(560);
  const [hover, setHover] = useState<number | null>(null);
  const id = useId();
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry!.contentRect.width))));
    observer.observe(box.current!);
    return (): void => observer.disconnect();
  }, []);
  const times = series[0]?.points.map((point) => point.x) ?? [];
  const end = times.at(-1) ?? Date.now();
  const start = Math.min(times[0] ?? end, end - MIN_SPAN);
  const values = series.flatMap((each) => each.points.flatMap((point) => (point.y === null ? [] : [point.y])));
  const limits = niceLimit(Math.max(whole ? 4 : 0, ...values));
  const x = scale([start, end], [MARGIN.left, width - MARGIN.right]);
  const y = scale([0, limits.limit], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const at = hover === null ? times.length - 1 : hover;
  const summary = series.map((each) => `${each.name} ${valueText(each.points[at]?.y, format)}`).join(", ");
  const onMove = (event: PointerEvent): void => {
    const left = (event.currentTarget as SVGElement).getBoundingClientRect().left;
    const wanted = event.clientX - left;
    let best = times.length - 1;
    times.forEach((time, index) => {
      if (Math.abs(x(time) - wanted) < Math.abs(x(times[best]!) - wanted)) best = index;
    });
    setHover(times.length ? best : null);
  };
  return (
    <section class="card plot" aria-labelledby={id}>
      <div class="plot-head">
        <h3 id={id}>{title}</h3>
        <ul class="plot-legend">
          {series.map((each) => (
            <li key={each.name}>
              <svg viewBox="0 0 20 8" aria-hidden="true" class={`plot-key ${each.level}`}>
                <path d="M1,4H19" stroke-dasharray={each.dashed ? "4 3" : undefined} />
              </svg>
              {each.name} <strong>{valueText(each.points[at]?.y, format)}</strong>
            </li>
          ))}
        </ul>
      </div>
      <div ref={box} class="plot-box">
        <svg width={width} height={HEIGHT} role="img" aria-label={`${title}: ${summary}`} onPointerMove={onMove} onPointerLeave={() => setHover(null)}>
          {tickValues(limits).map((tick) => (
            <g key={tick}>
              <line class="plot-grid" x1={MARGIN.left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} />
              <text x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
                {format(tick)}
              </text>
            </g>
          ))}
          {[start, end].map((time, index) => (
            <text key={index} x={x(time)} y={HEIGHT - 6} text-anchor={index ? "end" : "start"}>
              {clock(time)}
            </text>
          ))}
          {hover !== null && times[hover] !== undefined && <line class="plot-cursor" x1={x(times[hover]!)} x2={x(times[hover]!)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />}
          {series.map((each) => (
            <path key={each.name} class={`plot-line ${each.level}`} d={linePath(each.points, x, y)} stroke-dasharray={each.dashed ? "5 4" : undefined} />
          ))}
        </svg>
      </div>
      <details>
        <summary>Values as a table</summary>
        <div class="scroller plot-table" tabIndex={0} role="region" aria-label={`Values: ${title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map((each) => (
                  <th key={each.name} scope="col" class="number">
                    {each.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, index) => (
                <tr key={time}>
                  <th scope="row">{clock(time)}</th>
                  {series.map((each) => (
                    <td key={each.name} class="number">
                      {valueText(each.points[index]?.y, format)}
                    </td>
                  ))}
                </tr>
              )).reverse()}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  );
}

const clock = (time: number): string => new Date(time).toLocaleTimeString("en-GB");
const valueText = (value: number | null | undefined, format: (value: number) => string): string => (value === null || value === undefined ? "–" : format(value));
