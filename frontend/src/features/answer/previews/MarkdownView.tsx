/**
 * Markdown as a page reads: no HTML of its author, no picture that is fetched, links that leave only by a press.
 * Loaded when there is Markdown to show.
 */
import Markdown from "markdown-to-jsx";
import type { ReactNode } from "react";
import { readable } from "../../../model/words/readable.ts";

const TEXT_MAX = 64 * 1024;
const OUTSIDE = /^https?:\/\//i;

function OutsideLink({ href, children }: { href?: string; children?: ReactNode }) {
  // An address of the hub itself, or of any other kind, is a text: nothing that a task wrote acts here.
  if (!href || !OUTSIDE.test(href)) return <span>{children}</span>;
  return (
    <a className="link" href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

const Picture = ({ alt }: { alt?: string }) => <span className="dim">[{alt || "a picture"}]</span>;
const Nothing = () => null;

export default function MarkdownView({ text }: { text: string }) {
  const shown = readable(text.slice(0, TEXT_MAX));
  return (
    <>
      <Markdown
        className="markdown"
        options={{
          wrapper: "article",
          forceWrapper: true,
          forceBlock: true,
          disableParsingRawHTML: true,
          overrides: { a: OutsideLink, img: Picture, iframe: Nothing, script: Nothing, style: Nothing },
        }}
      >
        {shown}
      </Markdown>
      {text.length > TEXT_MAX && <p className="small dim">The first 64 kB.</p>}
    </>
  );
}
