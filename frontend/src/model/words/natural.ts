/** Names in the order that a person expects, `t2` before `t10`. A collator takes far longer for thousands of them. */

const KEYS_MAX = 20_000;
const DIGITS_WIDE = 12;
const keys = new Map<string, string>();

/** A text whose plain order is the natural order of names. */
export function naturalKey(name: string): string {
  let key = keys.get(name);
  if (key === undefined) {
    key = `${name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(DIGITS_WIDE, "0"))}\n${name}`;
    if (keys.size >= KEYS_MAX) keys.clear();
    keys.set(name, key);
  }
  return key;
}

/** Names in their order, as a list of its own. Without a comparator, thousands of them are sorted far more quickly. */
export function naturalOrder(names: Iterable<string>): string[] {
  const named = new Map<string, string>();
  for (const name of names) named.set(naturalKey(name), name);
  return [...named.keys()].sort().map((key) => named.get(key) ?? key);
}
