/** JSON and numbers that keep their digits: one that this browser's numbers cannot hold is read as text, or refused. Pure. */

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

/**
 * Parses a JSON text that is sent on from here; throws what `JSON.parse` throws, and LostDigits for a number that would be
 * sent with other digits.
 */
export function parseKept(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (LARGE.test(text))
    for (const [token] of text.matchAll(TOKEN))
      if (!token.startsWith('"') && !holds(token)) throw new LostDigits(token);
  return value;
}

/** The refusal of a number; its message is a sentence. */
export class LostDigits extends Error {
  constructor(digits: string) {
    super(`This page cannot keep all digits of the number ${digits.slice(0, 40)}.`);
  }
}

/** Whether a number goes through this browser with the digits that it has. */
export function holds(token: string): boolean {
  const value = Number(token);
  return /^-?\d+$/.test(token) ? Number.isSafeInteger(value) || String(value) === token : Number.isFinite(value);
}

/** The numbers that a field takes. */
export interface Bounds {
  whole?: boolean;
  least?: number;
  most?: number;
}

/** A number as it is typed, null for an empty text; or why the text is none, which goes on from the name of the field. */
export type TypedNumber = { value: number | null; fault: null } | { value: null; fault: string };

const TYPED = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Reads a number as people type it. Nothing is guessed: `0,50` and `100,000` mean another number in another country. */
export function numberIn(text: string, bounds: Bounds = {}): TypedNumber {
  const typed = text.trim();
  if (!typed) return { value: null, fault: null };
  if (!TYPED.test(typed)) {
    const such = bounds.whole ? "100000" : "0.5";
    return { value: null, fault: `needs a number written like ${such}, without a comma, a space or a unit` };
  }
  if (!holds(typed.replace(/^\+/, "").replace(/^(-?)0+(?=\d)/, "$1"))) {
    return { value: null, fault: "has more digits than this page can keep" };
  }
  const value = Number(typed);
  const fault = outOf(value, bounds);
  return fault === null ? { value, fault } : { value: null, fault };
}

/** Why a number is not within its bounds; goes on from the name of the field. */
export function outOf(value: number, { whole, least, most }: Bounds): string | null {
  if (whole && !Number.isInteger(value)) return "needs a whole number";
  if (least !== undefined && value < least) return `is at least ${least}`;
  return most !== undefined && value > most ? `is at most ${most}` : null;
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
