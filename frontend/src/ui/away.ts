/** Why something cannot be asked of the hub now; null while it can. Each button that asks something of it says this. */
import { createContext, useContext } from "react";

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

/** Why somebody of a role cannot ask for something; null where that is possible. The hub judges it all the same. */
export const whyNotBy = (role: string, asks: Asks): string | null =>
  !asks || !(role in MAY) || MAY[role]?.includes(asks) ? null : (ONLY[role] ?? null);

export function useWhyNot(asks: Asks): string | null {
  const away = useContext(AwayContext);
  const role = useContext(RoleContext);
  return asks ? (away ?? whyNotBy(role, asks)) : null;
}
