/** JSON whose numbers keep their digits: one that this browser's numbers cannot hold is read as text. Pure. */

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Without one of these no number is out of reach, and nothing has to be looked at twice. */
const LARGE = /\d{16}|[eE]\+?\d{3}/;

/** Values of Starloom nest up to 32 levels, and a file is whatever somebody wrote: what shows it calls itself. */
const DEPTH_MAX = 128;

/** Parses a JSON text; throws what `JSON.parse` throws, and a RangeError where it nests deeper than can be shown. */
export function parseExact(text: string): unknown {
  if (isTooDeep(text)) throw new RangeError(`it nests deeper than ${DEPTH_MAX} levels`);
  if (!LARGE.test(text)) return JSON.parse(text);
  JSON.parse(text);
  return JSON.parse(text.replace(TOKEN, (token) => (token.startsWith('"') || holds(token) ? token : `"${token}"`)));
}

function holds(token: string): boolean {
  const value = Number(token);
  return /^-?\d+$/.test(token) ? Number.isSafeInteger(value) : Number.isFinite(value);
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length && depth <= DEPTH_MAX; at++) {
    const sign = text[at];
    if (sign === '"') quoted = !quoted;
    else if (quoted) at += sign === "\\" ? 1 : 0;
    else if (sign === "[" || sign === "{") depth++;
    else if (sign === "]" || sign === "}") depth--;
  }
  return depth > DEPTH_MAX;
}
