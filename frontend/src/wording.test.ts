/** The texts of the page are plain English: every text and every literal with words, by the rules of the hub's. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SOURCE = import.meta.dirname;
const RULES = Object.entries(
  JSON.parse(readFileSync(join(SOURCE, "../../tests/arch/accents.json"), "utf8")) as Record<string, string>,
).map(([name, pattern]) => ({ name, pattern: new RegExp(pattern) }));

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "generated" ? [] : files(path);
    return /\.tsx?$/.test(entry.name) && !entry.name.includes(".test.") ? [path] : [];
  });
}

/** The text of a node that a person may read; values in it stand as an ellipsis. */
function textOf(node: ts.Node): string | null {
  if (ts.isJsxText(node)) return node.text.replace(/\s+/g, " ").trim();
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join("");
  }
  return null;
}

/** Literals that are no words: a single lower-case one is a key, a class or an id. */
const isRead = (node: ts.Node, text: string) =>
  ts.isJsxText(node) ? /[A-Za-z]/.test(text) : /[A-Za-z]/.test(text) && (/ /.test(text) || /^[A-Z]/.test(text));

function texts(path: string): { line: number; text: string }[] {
  const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true, kind);
  const found: { line: number; text: string }[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isImportDeclaration(node) || ts.isLiteralTypeNode(node)) return;
    const text = textOf(node);
    if (text && isRead(node, text)) {
      found.push({ line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, text });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const broken = (text: string) => RULES.filter((rule) => rule.pattern.test(text)).map((rule) => rule.name);

describe("the words of the page", () => {
  it("are found by the rules", () => {
    for (const bad of ["Put on a clock", "By a line", "Yes", "What runs is stopped.", "It goes on by itself", "OK"]) {
      expect(broken(bad), bad).not.toEqual([]);
    }
    expect(broken("What should happen?")).toEqual([]);
  });
  it("are plain English", () => {
    const all = files(SOURCE).flatMap((path) =>
      texts(path).map((one) => ({ ...one, path: path.slice(SOURCE.length) })),
    );
    expect(all.length).toBeGreaterThan(2000);
    const found = all.flatMap((one) => broken(one.text).map((rule) => `${one.path}:${one.line}: ${rule}: ${one.text}`));
    expect(found).toEqual([]);
  });
});
