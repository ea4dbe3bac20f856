import { readable } from "../model/words/readable.ts";
import { typed } from "./typed.ts";

/** What the hub says, in which commands and names stand between backticks: those are shown as code. */
export function Said({ text }: { text: string | null | undefined }) {
  const words = readable(text ?? "");
  const parts = words.split("`");
  if (parts.length % 2 === 0) return <>{words}</>; // one that stands alone is a letter like any other
  let at = 0;
  return (
    <>
      {parts.map((part, index) => {
        const key = at;
        at += part.length + 1;
        return index % 2 === 1 ? <code key={key}>{typed(part)}</code> : part;
      })}
    </>
  );
}

/** The same words where only plain text goes: a tooltip, one clamped line. */
export const plain = (text: string): string => readable(text.split("`").length % 2 ? text.replaceAll("`", "") : text);
