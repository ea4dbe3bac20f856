/** The document as text: YAML as people write it, JSON taken too. Says where a text cannot be read. */
import { type Document, isScalar, LineCounter, parseDocument, stringify, visit } from "yaml";
import { holds, LostDigits } from "../words/exact.ts";
import { type Draft, documentOf, draftOf, type Fields, isFields, type Json } from "./document.ts";

export type Read = { draft: Draft; fault: null } | { draft: null; fault: { reason: string; line: number } };

export function textOfDraft(draft: Draft, form: "yaml" | "json" = "yaml"): string {
  const document = documentOf(draft);
  if (form === "json") return `${JSON.stringify(document, null, 2)}\n`;
  return stringify(document, { lineWidth: 110, aliasDuplicateObjects: false, flowCollectionPadding: false });
}

/** Reads a text as the hub does: YAML 1.2 (of which JSON is a part), one map, no anchors. */
export function draftOfText(text: string): Read {
  const lineCounter = new LineCounter();
  const parsed = parseDocument(text, { version: "1.2", schema: "core", merge: false, uniqueKeys: true, lineCounter });
  const error = parsed.errors[0];
  if (error)
    return fault(error.message.split("\n", 1)[0]?.replace(/ at line \d+.*$/, "") ?? "", error.linePos?.[0].line ?? 1);
  const lost = lostIn(parsed);
  if (lost) return fault(new LostDigits(lost.digits).message, lineCounter.linePos(lost.at).line);
  const value = parsed.toJS({ maxAliasCount: 0 }) as Json;
  if (value === null) return fault("There is nothing here yet: a plan begins with `starloom: 1`.", 1);
  if (!isFields(value)) return fault("A plan is a map with named fields.", 1);
  return { draft: draftOf(value as Fields), fault: null };
}

/** The first number whose digits a browser does not keep. */
function lostIn(parsed: Document.Parsed): { digits: string; at: number } | null {
  let found: { digits: string; at: number } | null = null;
  visit(parsed, {
    Scalar(_, node) {
      const { source, range } = node;
      if (!isScalar(node) || typeof node.value !== "number" || !source || !range) return;
      if (!/^-?\d/.test(source) || holds(source)) return;
      found = { digits: source, at: range[0] };
      return visit.BREAK;
    },
  });
  return found;
}

const fault = (reason: string, line: number): Read => ({ draft: null, fault: { reason, line } });
