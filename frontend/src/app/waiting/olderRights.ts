/** A sign-in keeps the role that it began with: what a person may do now can be more. Pure. */
import type { SessionRow } from "../../model/types.ts";

const RANK: readonly string[] = ["viewer", "approver", "operator", "owner"];
const AS: Record<string, string> = { approver: "an approver", operator: "an operator", owner: "an owner" };

/** The way to the rights of a newer role; empty where this sign-in has them. */
export function olderRights(session: Pick<SessionRow, "person_role" | "role"> | null): string {
  // A tab that goes on with what it last knew may have kept none.
  if (!session?.person_role || RANK.indexOf(session.person_role) <= RANK.indexOf(session.role)) return "";
  const may = session.role === "viewer" ? "You may answer" : "You have the rights of it";
  return `You are ${AS[session.person_role]} now, and this sign-in is from before. ${may} once you sign in again: ask for a new invitation.`;
}
