/** Builds the styles of the page so that they follow the browser's text size; those of the graph keep their pixels. */
import type { Plugin } from "vite";
import { inEm, inRem } from "../src/styles/textSize.ts";

const FOLLOWS = /\/src\/(?!.*\/graph\.css)/;

export function rooted(): Plugin {
  const lengths = {
    postcssPlugin: "rooted",
    Declaration(style: { value: string; source?: { input: { file?: string } } }) {
      if (FOLLOWS.test(style.source?.input.file ?? "")) style.value = inRem(style.value);
    },
    AtRule: {
      media(rule: { params: string }) {
        rule.params = inEm(rule.params);
      },
      container(rule: { params: string }) {
        rule.params = inRem(rule.params);
      },
    },
  };
  return { name: "rooted", config: () => ({ css: { postcss: { plugins: [lengths] } } }) };
}
