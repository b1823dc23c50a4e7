/**
 * Parts that the console shares with the HTML reports of the toolkit. They produce the elements and classes of
 * `toolkit/reporting/html_components.py`, and `design.css` styles both.
 */
import type { ComponentChildren, VNode } from "preact";
import type { Level } from "../api/crd";

export type { Level };

const SIGNS: Record<Level, string> = { ok: "✓", error: "✕", warning: "!", note: "i", none: "·" };
const WORDS: Record<Level, string> = { ok: "OK: ", error: "Failed: ", warning: "Warning: ", note: "Note: ", none: "" };

/** A coloured sign with its name for screen readers. */
export function Sign({ level }: { level: Level }): VNode {
  return (
    <>
      <span class={`sign ${level}`} aria-hidden="true">
        {SIGNS[level]}
      </span>
      {WORDS[level] && <span class="hidden-text">{WORDS[level]}</span>}
    </>
  );
}

export function SignBadge({ level, children }: { level: Level; children: ComponentChildren }): VNode {
  return (
    <span class={`badge ${level}`}>
      <Sign level={level} />
      {children}
    </span>
  );
}

export function Verdict({ level, children }: { level: Level; children: ComponentChildren }): VNode {
  return (
    <p class={`verdict ${level}`} role="status">
      <Sign level={level} />
      <span>{children}</span>
    </p>
  );
}

/** Facts side by side, each with its name. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }): VNode {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A region that scrolls by itself. It has the focus, so that the keyboard can scroll it. */
export function Scroller({ label, children }: { label: string; children: ComponentChildren }): VNode {
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

/** The names of a table's columns. `numbers` are the positions of columns with numbers. */
export function ColumnHeads({ names, numbers = [] }: { names: readonly string[]; numbers?: readonly number[] | undefined }): VNode {
  return (
    <thead>
      <tr>
        {names.map((name, at) => (
          <th key={name} scope="col" class={numbers.includes(at) ? "number" : undefined}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export function DataTable(props: {
  caption: string;
  head: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
  numbers?: readonly number[];
}): VNode {
  const numeric = (at: number): string | undefined => (props.numbers?.includes(at) ? "number" : undefined);
  return (
    <Scroller label={props.caption}>
      <table class="data">
        <caption class="hidden-text">{props.caption}</caption>
        <ColumnHeads names={props.head} numbers={props.numbers} />
        <tbody>
          {props.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at} class={numeric(at)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

export interface MatrixCell {
  text?: string;
  level: Level;
  href?: string;
  /** Words for screen readers if the text is short or missing. */
  word?: string;
}

/** A matrix with a sign and a colour per cell. */
export function Matrix(props: { caption: string; corner: string; columns: readonly string[]; rows: readonly (readonly [string, readonly MatrixCell[]])[] }): VNode {
  return (
    <Scroller label={props.caption}>
      <table class="matrix">
        <caption class="hidden-text">{props.caption}</caption>
        <ColumnHeads names={[props.corner, ...props.columns]} />
        <tbody>
          {props.rows.map(([name, cells]) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              {cells.map((cell, at) => (
                <td key={at} class={cell.level}>
                  {cell.href ? <a href={cell.href}>{matrixContent(cell)}</a> : matrixContent(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

function matrixContent({ text, level, word }: MatrixCell): VNode {
  return (
    <>
      <Sign level={level} />
      {text && <span>{text}</span>}
      {word && <span class="hidden-text">{word}</span>}
    </>
  );
}

/** One step of a timeline, in an `<ol class="timeline">`. */
export function TimelineStep(props: { title: string; level: Level; text?: string; time?: string; children?: ComponentChildren }): VNode {
  return (
    <li class={props.level}>
      <Sign level={props.level} />
      <div>
        <h3>
          {props.title}
          {props.time && <span class="time">{props.time}</span>}
        </h3>
        {props.text && <p>{props.text}</p>}
        {props.children}
      </div>
    </li>
  );
}
