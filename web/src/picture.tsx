// Pictures of a report: files of the run, sent along with it; nothing is fetched for one.
import * as store from "./store";

const SHOWN = /^!\[([^\]]*)\]\(([^()\s]+)\)$/;

export const isPicture = (line: string): boolean => SHOWN.test(line.trim());

/** The picture, with what it says in words below it; the words alone where it was not sent. */
export function Picture({ line }: { line: string }) {
  const [, words = "", name = ""] = SHOWN.exec(line.trim()) ?? [];
  const data = store.view.value?.pictures?.[name];
  return (
    <figure>
      {data ? <img src={data} alt={words} /> : null}
      <figcaption class="m">{words}</figcaption>
    </figure>
  );
}
