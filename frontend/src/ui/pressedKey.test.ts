import { expect, it } from "vitest";
import { pressedKey } from "./pressedKey.ts";

it("leaves the keys alone that compose a word", () => {
  const press = (more: Partial<KeyboardEvent>) =>
    ({ key: "Enter", isComposing: false, keyCode: 13, ...more }) as KeyboardEvent;
  expect(pressedKey(press({}))).toBe("Enter");
  expect(pressedKey({ nativeEvent: press({}) })).toBe("Enter");
  expect(pressedKey(press({ isComposing: true }))).toBe("");
  // The Enter that ends a composition in Safari.
  expect(pressedKey({ nativeEvent: press({ keyCode: 229 }) })).toBe("");
});
