import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import MarkdownView from "./MarkdownView.tsx";

/** A reader that tries and tries again takes minutes for as many. */
const CHARS = 8_000;

describe("Markdown of a task", () => {
  it("is shown with its headings, lists and tables", () => {
    render(<MarkdownView text={"# Report\n\n- one\n- **two**\n\n| a | b |\n|---|---|\n| 1 | 2 |"} />);
    expect(screen.getByRole("heading", { name: "Report" })).toBeTruthy();
    expect(screen.getAllByRole("listitem")).toHaveLength(2);
    expect(screen.getByRole("cell", { name: "2" })).toBeTruthy();
  });

  it("has no HTML, no picture and no address but outside ones", () => {
    const { container } = render(
      <MarkdownView
        text={
          "![x](/api/v1/devices)\n\n<img src=/api/v1/devices onerror=alert(1)><script>alert(1)</script>\n\n" +
          "[js](javascript:alert(1)) [own](/api/v1/sign-out) [data](data:text/html,x) [out](https://example.org/)" +
          "\n\n<iframe src=/></iframe><form action=/api/v1/x><button>b</button></form>"
        }
      />,
    );
    expect(container.querySelectorAll("img, script, iframe, form, style, button")).toHaveLength(0);
    expect([...container.querySelectorAll("a")].map((link) => link.getAttribute("href"))).toEqual([
      "https://example.org/",
    ]);
    expect(container.querySelector("a")?.getAttribute("rel")).toBe("noopener noreferrer");
  });

  it("is shown at once, whatever signs a device repeats in it", () => {
    const signs = ["a`", "![a](b", "</", "[[a](b", "**a ", "*_", "> ", "  - ", "| a |\n"];
    const texts = signs.map((sign) => sign.repeat(Math.floor(CHARS / sign.length)));
    for (const text of [...texts, "![".repeat(CHARS / 4) + "](".repeat(CHARS / 4)]) {
      const { container, unmount } = render(<MarkdownView text={text} />);
      expect(container.querySelector("article")).toBeTruthy();
      unmount();
    }
  }, 30_000);
});
