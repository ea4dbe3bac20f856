/** Looks up words by a name that others chose. A name such as `__proto__` finds nothing. */
export const known = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
