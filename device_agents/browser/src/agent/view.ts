/** What the page shows of the agent, as one value that is new whenever something changed. */
import type { LeaseRef } from "../generated/protocol.ts";
import type { AttemptRow } from "../ledger/ledger.ts";
import type { Told } from "../tools/interface.ts";
import type { LinkState } from "./link.ts";
import type { Policy } from "./policy.ts";
import type { OpenQuestion } from "./questions.ts";

interface Notice {
  id: number;
  title: string;
  text: string;
}

/** A call that is carried out and asks nothing now. */
export interface RunningWork {
  at: LeaseRef;
  tool: string;
  told: Told;
  stop: () => void;
}

export interface View {
  link: LinkState;
  name: string;
  policy: Policy;
  questions: readonly OpenQuestion[];
  running: readonly RunningWork[];
  recent: readonly AttemptRow[];
  /** What tasks told the person, the newest first. */
  notices: readonly Notice[];
  /** What went wrong here that the person should know, the disk above all; empty if nothing did. */
  trouble: string;
}
