// Small things that are drawn everywhere: a status, the words of a text that nobody may take for markup.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { showPassage } from "./api";
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

export const Icon = ({ status }: { status: Status }) => (
  <svg class={`st ${status}`} viewBox="0 0 12 12" aria-hidden="true">
    {SHAPES[status]}
  </svg>
);

const OF_RUN: Record<string, [Status, string]> = {
  queued: ["slot", "Queued"],
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

const UNITS: Record<string, string> = { line: "L", page: "p", row: "r", paragraph: "b", slide: "s", chapter: "h", message: "m", cell: "c" };

/** Where the numbered sources of a report are, by number: `3. prices.csv, rows 2-9`. */
function placesIn(text: string): Map<string, [string, string]> {
  const found = new Map<string, [string, string]>();
  for (const line of text.slice(text.lastIndexOf("## Sources")).split("\n")) {
    const table = /^(\d+)\. (.+?), computed from the table/.exec(line);
    const one = /^(\d+)\. (.+?)(?:, section ".*")?, (line|page|row|paragraph|slide|chapter|message|cell)s? (\d+)(?:-(\d+))?(?:$|[ ,(])/.exec(line);
    if (table) found.set(table[1] ?? "", [table[2] ?? "", "table"]);
    else if (one) {
      const unit = UNITS[one[3] ?? ""] ?? "L";
      found.set(one[1] ?? "", [(one[2] ?? "").replace(/, sheet /, "/"), `${unit}${one[4]}${one[5] ? `-${unit}${one[5]}` : ""}`]);
    }
  }
  return found;
}

type Places = Map<string, [string, string]>;

/** Bold, code and places in sources; everything else is the text itself. */
function inline(text: string, places: Places): ComponentChildren[] {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`|(?<![\w*])_[^_\n]+_(?![\w*])|(?<![\w*])\*[^*\s][^*\n]*\*(?![\w*])|\[[^\][#]+#[^\][]+\]|\[\d+\])/).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part.startsWith("**")) return <b key={i}>{part.slice(2, -2)}</b>;
    if (part.startsWith("_") || part.startsWith("*")) return <em key={i}>{part.slice(1, -1)}</em>;
    if (part.startsWith("`")) return <code key={i}>{part.slice(1, -1)}</code>;
    const named = part.slice(1, -1);
    const [file, place] = places.get(named) ?? (named.includes("#") ? named.split("#") : []);
    return file && place ? (
      <button key={i} class="cite" title={`${file}, ${place}`} onClick={() => void showPassage(file, place)}>
        {part}
      </button>
    ) : (
      <cite key={i}>{part}</cite>
    );
  });
}

const MOST = 100_000;
const MANY = 100;

/** A text of any length: what is more than a person reads at once is drawn when it is wanted. */
export function Long({ text, draws, most = MOST }: { text: string; draws: (text: string) => ComponentChildren; most?: number }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= most || isWhole) return <>{draws(text)}</>;
  return (
    <>
      {draws(text.slice(0, most))}
      <p>
        <button class="lnk" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString("en")} characters
        </button>
      </p>
    </>
  );
}

/** Markdown as far as reports use it. It makes elements from text: no HTML, no links, and no pictures but the run's own can come of it. */
export const Markdown = ({ text }: { text: string }) => {
  const places = useMemo(() => placesIn(text), [text]);
  return <Long text={text} draws={(part) => <Blocks text={part} places={places} />} />;
};

function Blocks({ text, places }: { text: string; places: Places }) {
  const blocks = useMemo(() => blocksOf(text, places), [text, places]);
  const [isBegun, setBegun] = useState(false);
  // what is in sight first; the rest of a long text once that is drawn
  useEffect(() => {
    const soon = setTimeout(() => setBegun(true), 100);
    return () => clearTimeout(soon);
  }, []);
  return <div class={blocks.length > MANY ? "res many" : "res"}>{isBegun ? blocks : blocks.slice(0, MANY)}</div>;
}

function blocksOf(text: string, places: Places): JSX.Element[] {
  const blocks: JSX.Element[] = [];
  const lines = text.split("\n");
  const said = (part: string) => inline(part, places);
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
      blocks.push(<Level key={i} dir="auto">{said(heading[2] ?? "")}</Level>);
    } else if (/^```/.test(line)) {
      const found: string[] = [];
      for (i += 1; i < lines.length && !/^```/.test(lines[i] ?? ""); i++) found.push(lines[i] ?? "");
      blocks.push(<pre key={i}>{found.join("\n")}</pre>);
    } else if (/^\s*[-*] /.test(line)) blocks.push(<ul key={i}>{taken(/^\s*[-*] /).map((one, n) => <li key={n} dir="auto">{said(one)}</li>)}</ul>);
    else if (/^\s*\d+\. /.test(line)) {
      const first = Number.parseInt(line, 10);
      blocks.push(
        <ol key={i} start={first}>
          {taken(/^\s*\d+\. /).map((one, n) => (
            <li key={n} dir="auto">{said(one)}</li>
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
                  {row.replace(/\|\s*$/, "").split("|").map((cell, m) => (n ? <td key={m}>{said(cell.trim())}</td> : <th key={m}>{said(cell.trim())}</th>))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>,
      );
    } else if (isPicture(line)) blocks.push(<Picture key={i} line={line} />);
    else if (line.trim()) blocks.push(<p key={i} dir="auto">{said(line.replace(/^> ?/, ""))}</p>);
  }
  return blocks;
}
