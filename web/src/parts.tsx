// Small things that are drawn everywhere: a status, the words of a text that nobody may take for markup.
import type { ComponentChildren, JSX } from "preact";
import { isPicture, Picture } from "./picture";
import type { Status } from "./types";

const SHAPES: Record<Status, JSX.Element> = {
  wait: <circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2 1.34" />,
  slot: <rect x="2" y="2" width="8" height="8" fill="none" stroke="currentColor" stroke-width="1.6" />,
  back: <path d="M9.6 7.8A4.2 4.2 0 1 1 10 4.6M10.4 1.6v3.2H7.2" fill="none" stroke="currentColor" stroke-width="1.6" />,
  work: (
    <g>
      <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M6 3a3 3 0 0 1 0 6z" fill="currentColor" />
    </g>
  ),
  park: <path d="M6 .4 11.6 6 6 11.6.4 6z" fill="currentColor" />,
  done: <path d="m1.6 6.4 3 3.1 5.8-6.8" fill="none" stroke="currentColor" stroke-width="2" />,
  fail: <path d="m2.2 2.2 7.6 7.6m0-7.6L2.2 9.8" stroke="currentColor" stroke-width="2" />,
  hold: <path d="M3 2h2v8H3zM7 2h2v8H7z" fill="currentColor" />,
  end: <path d="M2 5.1h8v1.8H2z" fill="currentColor" />,
};

export const Icon = ({ status, turns = false }: { status: Status; turns?: boolean }) => (
  <svg class={`st ${status}${turns ? " spin" : ""}`} viewBox="0 0 12 12" aria-hidden="true">
    {SHAPES[status]}
  </svg>
);

const OF_RUN: Record<string, [Status, string]> = {
  running: ["work", "Working"],
  waiting: ["park", "Asks you"],
  paused: ["hold", "Paused"],
  handed_over: ["hold", "You drive"],
  complete: ["done", "Complete"],
  partial: ["end", "Partial"],
  failed: ["fail", "Failed"],
  cancelled: ["end", "Cancelled"],
};
export const standing = (status: string): [Status, string] => OF_RUN[status] ?? ["wait", status];

/** Bold, code and places in sources; everything else is the text itself. */
function inline(text: string): ComponentChildren[] {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`|\[[^\][]+#[^\][]+\]|\[\d+\])/).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part.startsWith("**")) return <b key={i}>{part.slice(2, -2)}</b>;
    if (part.startsWith("`")) return <code key={i}>{part.slice(1, -1)}</code>;
    return (
      <cite key={i} class="cite">
        {part}
      </cite>
    );
  });
}

/** Markdown as far as reports use it. It makes elements from text: no HTML, no links, and no pictures but the run's own can come of it. */
export function Markdown({ text }: { text: string }) {
  const blocks: JSX.Element[] = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const heading = /^(#{1,6}) +(.*)$/.exec(line);
    const taken = (pattern: RegExp): string[] => {
      const found: string[] = [];
      while (i < lines.length && pattern.test(lines[i] ?? "")) found.push((lines[i++] ?? "").replace(pattern, ""));
      i -= 1;
      return found;
    };
    if (heading) {
      const Level = (["h2", "h3", "h4", "h5", "h5", "h5"] as const)[(heading[1]?.length ?? 1) - 1] ?? "h5";
      blocks.push(<Level key={i}>{inline(heading[2] ?? "")}</Level>);
    } else if (/^```/.test(line)) {
      const found: string[] = [];
      for (i += 1; i < lines.length && !/^```/.test(lines[i] ?? ""); i++) found.push(lines[i] ?? "");
      blocks.push(<pre key={i}>{found.join("\n")}</pre>);
    } else if (/^\s*[-*] /.test(line)) blocks.push(<ul key={i}>{taken(/^\s*[-*] /).map((one, n) => <li key={n}>{inline(one)}</li>)}</ul>);
    else if (/^\s*\d+\. /.test(line)) {
      const first = Number.parseInt(line, 10);
      blocks.push(
        <ol key={i} start={first}>
          {taken(/^\s*\d+\. /).map((one, n) => (
            <li key={n}>{inline(one)}</li>
          ))}
        </ol>,
      );
    } else if (/^\|/.test(line)) {
      const rows = taken(/^\|/).filter((row) => !/^[\s|:-]+$/.test(row));
      blocks.push(
        <div key={i} class="wide">
          <table class="tb">
            <tbody>
              {rows.map((row, n) => (
                <tr key={n}>
                  {row.replace(/\|\s*$/, "").split("|").map((cell, m) => (n ? <td key={m}>{inline(cell.trim())}</td> : <th key={m}>{inline(cell.trim())}</th>))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>,
      );
    } else if (isPicture(line)) blocks.push(<Picture key={i} line={line} />);
    else if (line.trim()) blocks.push(<p key={i}>{inline(line.replace(/^> ?/, ""))}</p>);
  }
  return <div class="res">{blocks}</div>;
}
