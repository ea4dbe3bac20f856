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

/** Who may ask: `true` is a person who may change things, an approver may answer besides, and anyone may look. */
export type Asks = boolean | "approver" | "anyone";

export const AwayContext = createContext<string | null>(null);
/** The role of this sign-in; empty while it is not known. */
export const RoleContext = createContext("");
export const AWAY = "The hub does not answer; it is possible again when it does.";

const MAY: Record<string, readonly Asks[]> = {
  owner: [true, "approver", "anyone"],
  operator: [true, "approver", "anyone"],
  approver: ["approver", "anyone"],
  viewer: ["anyone"],
};
const ONLY: Record<string, string> = {
  approver:
    "An approver can look and answer questions, but cannot start or change anything. An owner can give you another role.",
  viewer: "A viewer can look, but cannot change anything. An owner can give you another role.",
};

/** Why somebody of a role cannot ask for something; null where that is possible. The hub decides in any case. */
export const whyNotBy = (role: string, asks: Asks): string | null =>
  !asks || !(role in MAY) || MAY[role]?.includes(asks) ? null : (ONLY[role] ?? null);

export function useWhyNot(asks: Asks): string | null {
  const away = useContext(AwayContext);
  const role = useContext(RoleContext);
  return asks ? (away ?? whyNotBy(role, asks)) : null;
}

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
      if (event.key === "Escape") setButton(null);
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
  const across =
    box.left + WIDTH_PX + EDGE_PX <= innerWidth
      ? { left: Math.max(EDGE_PX, box.left) }
      : { right: Math.max(EDGE_PX, Math.min(innerWidth - box.right, innerWidth - WIDTH_PX - EDGE_PX)) };
  const up = box.bottom + HEIGHT_PX >= innerHeight;
  return { ...across, ...(up ? { bottom: innerHeight - box.top + 4 } : { top: box.bottom + 4 }) };
}
