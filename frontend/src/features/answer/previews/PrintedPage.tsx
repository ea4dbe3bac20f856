/**
 * The contents of an HTML file on paper and in a low window. A frame prints what its box shows and nothing below; here the elements that a
 * report is made of are drawn by the page itself, without any attribute of the file but the bytes of its pictures.
 */
import { createElement, Fragment, type ReactNode, useMemo } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { PRINTED_MAX } from "../../../app/workspace/printing.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import type { FileRef } from "../../../model/answer/files.ts";
import { readable } from "../../../model/words/readable.ts";
import { bytes } from "../../../model/words/words.ts";
import { Reading } from "./FilePreview.tsx";

const PAGE_BYTES_MAX = 32 * 1024 * 1024;
const DEPTH_MAX = 64;
/** Elements in one file; a row or a picture is some of them. */
const ELEMENTS_MAX = 10 * PRINTED_MAX;
const KEPT = new Set(
  (
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd table thead tbody tfoot tr th td caption figure figcaption pre code " +
    "blockquote b strong i em small s u sub sup span div section article header footer main hr br"
  ).split(" "),
);
/** Their text is no content. */
const LEFT = new Set(["script", "style", "title", "template", "noscript", "iframe", "object", "svg", "head"]);
const EMPTY = new Set(["hr", "br"]);
const PICTURE = /^data:image\/(png|jpeg|gif|webp|avif);base64,[\w+/=\s]+$/;

/** The part of a document that is drawn, and whether it is all of it. */
function drawn(text: string): { content: ReactNode; whole: boolean } {
  // The document is inert: nothing in it runs or is fetched.
  const page = new DOMParser().parseFromString(text, "text/html");
  let left = ELEMENTS_MAX;
  const draw = (node: Node, depth: number, key: number): ReactNode => {
    if (node.nodeType === Node.TEXT_NODE) return readable(node.textContent ?? "");
    if (!(node instanceof Element) || LEFT.has(node.localName)) return null;
    left -= 1;
    if (left < 0 || depth > DEPTH_MAX) return null;
    if (node.localName === "img") {
      const [source, alt] = [node.getAttribute("src") ?? "", readable(node.getAttribute("alt") ?? "")];
      return PICTURE.test(source) ? (
        <img key={key} src={source} alt={alt} />
      ) : (
        <span key={key}>[{alt || "a picture"}]</span>
      );
    }
    const inner = [...node.childNodes].map((child, at) => draw(child, depth + 1, at));
    if (!KEPT.has(node.localName)) return <Fragment key={key}>{inner}</Fragment>;
    return EMPTY.has(node.localName)
      ? createElement(node.localName, { key })
      : createElement(node.localName, { key }, ...inner);
  };
  const content = [...page.body.childNodes].map((node, at) => draw(node, 0, at));
  return { content, whole: left >= 0 };
}

export default function PrintedPage({ file }: { file: FileRef }) {
  const { hub } = useWorkspace();
  const read = useResource(file.artifact, (signal) => hub.artifactStart(file.artifact, PAGE_BYTES_MAX, signal));
  const text = read.value?.text;
  const found = useMemo(() => (text === undefined ? null : drawn(text)), [text]);
  if (read.problem) return <p className="dim">{read.problem.message}</p>;
  if (!found) return <Reading />;
  return (
    <article className="printedpage">
      {found.content}
      {!read.value?.whole && (
        <p className="small dim">
          The first {bytes(PAGE_BYTES_MAX)} of {bytes(file.bytes)}.
        </p>
      )}
      {!found.whole && <p className="small dim">The first {ELEMENTS_MAX} elements of the page.</p>}
    </article>
  );
}
