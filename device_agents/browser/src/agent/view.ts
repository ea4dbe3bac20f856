/** What the page shows of the agent, as one value that is new whenever something changed. */
import type { LeaseRef } from "../generated/protocol.ts";
import type { AttemptRow } from "../ledger/ledger.ts";
import type { LinkState } from "./link.ts";
import type { Policy } from "./policy.ts";
import type { OpenQuestion } from "./questions.ts";

interface Notice {
  id: number;
  title: string;
  text: string;
}

export interface View {
  link: LinkState;
  name: string;
  policy: Policy;
  questions: readonly OpenQuestion[];
  running: readonly { at: LeaseRef; tool: string; note: string }[];
  recent: readonly AttemptRow[];
  /** What tasks told the person, the newest first. */
  notices: readonly Notice[];
  /** What went wrong here that the person should know, the disk above all; empty if nothing did. */
  trouble: string;
}
