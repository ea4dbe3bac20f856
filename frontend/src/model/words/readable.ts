/**
 * Texts of others as they can be read: signs that turn the direction of what follows, or that no eye can see, are
 * written out. Pure; what is saved, copied or sent is the text itself.
 */

/** Controls except line break and tab, and the overrides, embeddings and isolates of writing direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const STEERING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;

export const readable = (text: string): string =>
  text.replace(STEERING, (sign) => `‹U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
