/** JSON whose numbers keep their digits: one that this browser's numbers cannot hold is read as text. Pure. */

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Without one of these no number is out of reach, and nothing has to be looked at twice. */
const LARGE = /\d{16}|[eE]\+?\d{3}/;

/** Parses a JSON text; throws what `JSON.parse` throws. */
export function parseExact(text: string): unknown {
  if (!LARGE.test(text)) return JSON.parse(text);
  JSON.parse(text);
  return JSON.parse(text.replace(TOKEN, (token) => (token.startsWith('"') || holds(token) ? token : `"${token}"`)));
}

function holds(token: string): boolean {
  const value = Number(token);
  return /^-?\d+$/.test(token) ? Number.isSafeInteger(value) : Number.isFinite(value);
}
