/** Commands in a preview stand as they are typed, never as JSON. */
import { describe, expect, it } from "vitest";
import { commandOf, isCommand, wordsIn } from "./commands.ts";

describe("a command in a preview", () => {
  it("is words with spaces between, and quotes where a word has one", () => {
    expect(commandOf(["drucke.sh"])).toBe("drucke.sh");
    expect(commandOf(["grep", "two words", ""])).toBe('grep "two words" ""');
  });
  it("is read back as it was", () => {
    for (const words of [["drucke.sh"], ["grep", "two words", ""], ["ls", "-l", "/tmp"], []])
      expect(wordsIn(commandOf(words))).toEqual(words);
  });
  it("takes a quote that is still open", () => {
    expect(wordsIn('grep "two wo')).toEqual(["grep", "two wo"]);
  });
  it("leaves lists of anything else, and words with quotes, alone", () => {
    expect(isCommand(["a", 1])).toBe(false);
    expect(isCommand(['say "hi"'])).toBe(false);
    expect(isCommand("drucke.sh")).toBe(false);
  });
});
