/** Every control of the page does something, and no handler of keys takes one that composes a word. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const SOURCE = join(import.meta.dirname, "..");
const PRESSED = new Set(["button", "Button"]);

/** The attributes by which a press is answered; one that comes by a spread is its component's. */
const ANSWERS = /^(on[A-Z]\w*|popoverTarget|formAction)$/;

/** Stands there only for a person without the right to files, to whom a press says the reason. */
const REFUSED = ['features/answer/previews/FileList.tsx: <Button asks="files">'];

/** The buttons of a source that nothing answers: no handler, no form, no spread of attributes. */
function silent(name: string, text: string): string[] {
  const tree = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const seen = (node: ts.Node, inForm: boolean): void => {
    let form = inForm;
    const opening = ts.isJsxElement(node) ? node.openingElement : ts.isJsxSelfClosingElement(node) ? node : null;
    if (opening !== null) {
      const tag = opening.tagName.getText(tree);
      form ||= tag === "form";
      const answered = opening.attributes.properties.some(
        (one) => ts.isJsxSpreadAttribute(one) || ANSWERS.test(one.name.getText(tree)),
      );
      if (PRESSED.has(tag) && !answered && !form) found.push(`${name}: ${opening.getText(tree)}`);
    }
    ts.forEachChild(node, (child) => seen(child, form));
  };
  seen(tree, false);
  return found;
}

it("gives every button something that a press does", () => {
  const all = readdirSync(SOURCE, { recursive: true, encoding: "utf8" });
  const names = all.filter((name) => name.endsWith(".tsx") && !name.endsWith(".test.tsx"));
  expect(names.length).toBeGreaterThan(100);
  expect(names.flatMap((name) => silent(name, readFileSync(join(SOURCE, name), "utf8")))).toEqual(REFUSED);
});

it("finds a button that stays silent", () => {
  expect(silent("a.tsx", "const a = <p><button type='button'>Stay</button></p>;")).toEqual([
    "a.tsx: <button type='button'>",
  ]);
  expect(silent("a.tsx", "const a = <button onClick={go}>Go</button>;")).toEqual([]);
  expect(silent("a.tsx", "const a = <form onSubmit={go}><button>Go</button></form>;")).toEqual([]);
  expect(silent("a.tsx", "const a = <button {...rest}>Go</button>;")).toEqual([]);
});

/** Only here the key of a press is read, so that every handler leaves those alone that compose a word. */
const READS_KEYS = "ui/pressedKey.ts";

/** The places of a source where a handler of keys reads the press itself. */
function readsKeys(name: string, text: string): string[] {
  const tree = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const seen = (node: ts.Node, presses: ReadonlySet<string>): void => {
    let known = presses;
    if (ts.isFunctionLike(node)) {
      const ofKeys = ts.isJsxExpression(node.parent) && /^onKey/.test(node.parent.parent.getText(tree));
      const taken = node.parameters.filter((one) => ofKeys || /KeyboardEvent/.test(one.type?.getText(tree) ?? ""));
      known = new Set([...presses, ...taken.map((one) => one.name.getText(tree))]);
      for (const { name: taker } of taken) if (!ts.isIdentifier(taker)) found.push(`${name}: ${taker.getText(tree)}`);
    }
    const read = ts.isPropertyAccessExpression(node) && /^(key|code|keyCode|which)$/.test(node.name.text);
    if (read && known.has(node.expression.getText(tree))) found.push(`${name}: ${node.getText(tree)}`);
    ts.forEachChild(node, (child) => seen(child, known));
  };
  seen(tree, new Set());
  return found;
}

it("asks one function which key a press means", () => {
  const all = readdirSync(SOURCE, { recursive: true, encoding: "utf8" });
  const names = all.filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name) && name !== READS_KEYS);
  const asking = names.filter((name) => readFileSync(join(SOURCE, name), "utf8").includes("pressedKey(event)"));
  expect(asking.length).toBeGreaterThan(15);
  expect(names.flatMap((name) => readsKeys(name, readFileSync(join(SOURCE, name), "utf8")))).toEqual([]);
});

it("finds a handler that reads the press itself", () => {
  expect(readsKeys("a.tsx", "const a = <input onKeyDown={(e) => e.key === 'Enter' && go()} />;")).toHaveLength(1);
  expect(readsKeys("a.tsx", "const hear = (press: KeyboardEvent) => press.code === 'KeyA';")).toHaveLength(1);
  expect(readsKeys("a.tsx", "function hear({ key }: React.KeyboardEvent) { return key; }")).toHaveLength(1);
  expect(readsKeys("a.tsx", "const a = <input onChange={(row) => row.key === 'a'} />;")).toEqual([]);
});
