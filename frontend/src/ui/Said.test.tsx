import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { setProgram } from "../model/words/commands.ts";
import { Said } from "./Said.tsx";

const html = (text: string | null) => renderToStaticMarkup(<Said text={text} />);

describe("what the hub says", () => {
  it("shows commands as code", () => {
    expect(html("Run `starloom open`, then `starloom up`.")).toBe(
      "Run <code>starloom open</code>, then <code>starloom up</code>.",
    );
  });

  it("keeps a line with the path of the program for those who want a terminal", () => {
    setProgram("STARLOOM_HOME=/srv/hub /opt/starloom");
    const shown = html("See `starloom devices`.");
    setProgram("starloom");
    expect(shown).not.toContain("STARLOOM_HOME");
    expect(shown).toMatch(/^See <button[^>]*>this command<\/button>\.$/);
  });

  it("shows the hub's times on the reader's clock", () => {
    expect(html("off since 2026-01-02 03:04:05 UTC")).not.toContain("UTC");
  });

  it("leaves a backtick alone that closes nothing", () => {
    expect(html("the key ` stands twice")).toBe("the key ` stands twice");
    expect(html(null)).toBe("");
  });
});
