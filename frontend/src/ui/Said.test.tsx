import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Said } from "./Said.tsx";

const html = (text: string | null) => renderToStaticMarkup(<Said text={text} />);

describe("what the hub says", () => {
  it("shows commands as code", () => {
    expect(html("Run `starloom open`, then `starloom up`.")).toBe(
      "Run <code>starloom open</code>, then <code>starloom up</code>.",
    );
  });

  it("leaves a backtick alone that closes nothing", () => {
    expect(html("the key ` stands twice")).toBe("the key ` stands twice");
    expect(html(null)).toBe("");
  });
});
