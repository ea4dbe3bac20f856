/** Why something cannot be asked of the hub now; null while it can. Each button that asks something of it says this. */
import {
  type CSSProperties,
  createContext,
  type FocusEvent,
  type MouseEvent,
  type ReactNode,
  useContext,
  useEffect,
  useState,
} from "react";
import { grown } from "../styles/textSize.ts";
import { pressedKey } from "./pressedKey.ts";

/**
 * Who may ask, as the hub's routes ask for it: `true` is a person who may change something, `fleet` one who may change
 * devices, `run` one who may change all work, `start` one who may start some of it; an approver may answer besides, and
 * anyone may look; `files` is for anyone who may open files. `sessions` is for those who make links and end sign-ins;
 * `access` and `lab` are for owners.
 */
export type Asks =
  | boolean
  | "access"
  | "anyone"
  | "approver"
  | "files"
  | "fleet"
  | "lab"
  | "run"
  | "sessions"
  | "start";

export const AwayContext = createContext<string | null>(null);
/** The rights of a sign-in: a role, and the parts of it to which its token is limited; all of it without any. */
export interface Rights {
  role: string;
  scopes: readonly string[];
}

/** Those of a sign-in that is not known yet. */
export const UNKNOWN: Rights = { role: "", scopes: [] };
export const RightsContext = createContext(UNKNOWN);
export const AWAY = "The hub does not answer; it is possible again when it does.";

const MAY: Record<string, readonly Asks[]> = {
  owner: [true, "access", "anyone", "approver", "files", "fleet", "lab", "run", "sessions", "start"],
  operator: [true, "anyone", "approver", "files", "fleet", "run", "sessions", "start"],
  approver: ["approver", "anyone", "files"],
  viewer: ["anyone", "files"],
};
const ONLY: Record<string, string> = {
  operator: "An operator can change work and devices, but this is for owners. An owner can give you another role.",
  approver:
    "An approver can look and answer questions, but cannot start or change anything. An owner can give you another role.",
  viewer: "A viewer can look, but cannot change anything. An owner can give you another role.",
};

/** The scopes of which one is needed; a plain `true` does not say which of those that change things is its own. */
const NEEDS: Record<string, readonly string[]> = {
  access: ["access"],
  approver: ["approve"],
  files: ["artifacts"],
  fleet: ["fleet"],
  lab: ["lab"],
  run: ["run"],
  sessions: ["access"],
  start: ["run"],
  true: ["access", "fleet", "lab", "run"],
};
const NO_ACCESS =
  "This sign-in may not change who may do what: its rights leave out “access”. An owner can give you another one.";
const LIMITED: Record<string, string> = {
  access: NO_ACCESS,
  approver: "This sign-in may not answer questions: its rights leave out “approve”. An owner can give you another one.",
  files: "This sign-in may not open files: its rights leave out “artifacts”. An owner can give you another one.",
  fleet: "This sign-in may not change devices: its rights leave out “fleet”. An owner can give you another one.",
  run: "This sign-in may not start or change work: its rights leave out “run”. An owner can give you another one.",
  lab: "This sign-in may not break devices: its rights leave out “lab”. An owner can give you another one.",
  sessions: NO_ACCESS,
  start: "This sign-in may not start work: its rights leave out “run”. An owner can give you another one.",
  true: "This sign-in may look, but not change anything. An owner can give you another one.",
};

/** Before the name of a recipe: a scope that is a part of “run”. The hub says of which work. */
const RECIPE = "recipe:";

/** Whether a sign-in holds one of these scopes, or a part of one. */
export const holds = ({ scopes }: Rights, ...wanted: readonly string[]): boolean =>
  scopes.length === 0 ||
  wanted.some((scope) => scopes.includes(scope)) ||
  (wanted.includes("run") && scopes.some((scope) => scope.startsWith(RECIPE)));

/** A part of “run” is enough to start its recipe, but not for what only the whole of it allows, such as a schedule. */
const allowed = (rights: Rights, asks: Asks, needs: readonly string[]): boolean =>
  asks === "run" ? rights.scopes.length === 0 || rights.scopes.includes("run") : holds(rights, ...needs);

/** Why somebody with these rights cannot ask for something; null where that is possible. The hub decides in any case. */
export function whyNotBy(rights: Rights, asks: Asks): string | null {
  if (!asks || !(rights.role in MAY)) return null;
  if (!MAY[rights.role]?.includes(asks)) return ONLY[rights.role] ?? null;
  const needs = NEEDS[String(asks)];
  return needs && !allowed(rights, asks, needs) ? (LIMITED[String(asks)] ?? null) : null;
}

export function useWhyNot(asks: Asks): string | null {
  const away = useContext(AwayContext);
  const rights = useContext(RightsContext);
  return asks ? (away ?? whyNotBy(rights, asks)) : null;
}

/** Why the rights of this sign-in never allow it, whether the hub answers or not. */
export const useRefusal = (asks: Asks): string | null => whyNotBy(useContext(RightsContext), asks);

/** Whether the rights of this sign-in allow it, also while the hub is away. */
export const useMay = (asks: Asks): boolean => useRefusal(asks) === null;

const WIDTH_PX = 320;
const HEIGHT_PX = 96;
const EDGE_PX = 8;

interface Reason {
  /** The bubble, while it is shown. */
  bubble: ReactNode;
  onPress: (event: MouseEvent<HTMLElement>) => void;
  onFocus: (event: FocusEvent<HTMLElement>) => void;
  onBlur: () => void;
}

/** Shows the reason beside its button: on a press, and while the keyboard is on it. A mouse has its title. */
export function useReason(why: string | null): Reason {
  const [button, setButton] = useState<HTMLElement | null>(null);
  const shown = why ? button : null;
  useEffect(() => {
    if (!shown) return;
    const away = (event: Event) => {
      if (!(event.target instanceof Node && shown.contains(event.target))) setButton(null);
    };
    const leave = (event: KeyboardEvent) => {
      if (pressedKey(event) === "Escape") setButton(null);
    };
    document.addEventListener("pointerdown", away, true);
    document.addEventListener("scroll", away, true);
    document.addEventListener("keydown", leave);
    return () => {
      document.removeEventListener("pointerdown", away, true);
      document.removeEventListener("scroll", away, true);
      document.removeEventListener("keydown", leave);
    };
  }, [shown]);
  const bubble = shown && (
    <span className="whynot" role="status" style={beside(shown.getBoundingClientRect())}>
      {why}
    </span>
  );
  return {
    bubble,
    onPress: (event) => {
      event.preventDefault();
      setButton(event.currentTarget);
    },
    onFocus: (event) => {
      if (event.currentTarget.matches(":focus-visible")) setButton(event.currentTarget);
    },
    // Later: React puts the focus back on the button where its bubble goes while the focus is moving.
    onBlur: () => void setTimeout(() => setButton((left) => (left?.matches(":focus") ? left : null))),
  };
}

/** Below the button, or above it at the bottom of the screen; never over an edge. */
function beside(box: DOMRect): CSSProperties {
  const [wide, high] = [grown(WIDTH_PX), grown(HEIGHT_PX)];
  const across =
    box.left + wide + EDGE_PX <= innerWidth
      ? { left: Math.max(EDGE_PX, box.left) }
      : { right: Math.max(EDGE_PX, Math.min(innerWidth - box.right, innerWidth - wide - EDGE_PX)) };
  const up = box.bottom + high >= innerHeight;
  return { ...across, ...(up ? { bottom: innerHeight - box.top + 4 } : { top: box.bottom + 4 }) };
}
