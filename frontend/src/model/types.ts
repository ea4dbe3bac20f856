/** The types of the protocol and of the API as the page uses them; tables of words are imported where they are read. */
export type {
  ActivityRow,
  AttentionRow,
  BlameLine,
  BreakableDevice,
  BriefText,
  ChainCheck,
  ConstellationRow,
  Course,
  Created,
  Estimate,
  ExpectedTask,
  FaultMeeting,
  FirstPrompt,
  GrantLine,
  InvitationRow,
  LanRow,
  ModelReply,
  ModelRole,
  ModelState,
  NamedQuestionRow,
  NewEnrollment,
  NewFault,
  PageAddress,
  PastedPlan,
  ProposalList,
  ProposalRow,
  paths as ApiPaths,
  QrCode,
  RecipeCandidate,
  RecipeParam,
  RecipeRow,
  RecipeSentence,
  RecipeShape,
  RecipeVersionRow,
  RecipeWhole,
  RefusedRow,
  RequestPreview,
  RoleRow,
  RoleSetting,
  RuleRow,
  RunCourse,
  RunRow,
  RunWhatIf,
  ScenarioRow,
  SchedulePreview,
  ScheduleRow,
  SecretNeed,
  SecretRow,
  SessionRow,
  SetModel,
  SignInLink,
  StoryRow,
  TaskPreviewRow,
  TokenRow,
  Understood,
  WhatIf,
  WhyAll,
  WhyRow,
} from "../generated/api.ts";
export type {
  AddTask,
  Answer,
  AnswerItem,
  Approved,
  Attempt,
  Attention,
  Call,
  Check,
  Choice,
  Code,
  Dependency,
  Device,
  DeviceAsks,
  DeviceWork,
  Enrollment,
  Finding,
  Glyph,
  GoalTurn,
  GroupRecord,
  Head,
  Health,
  Input,
  Item,
  Job,
  Judge,
  LabFault,
  ModelCall,
  Offer,
  Pace,
  PendingAsk,
  Phase,
  Priority,
  Purpose,
  Question,
  Reason,
  RecipeRuns,
  RecipeTrend,
  RecipeVersion,
  RuleRecord,
  RunReport,
  Schedule,
  ScheduleCourse,
  Selector,
  SentenceSpec,
  Sharing,
  Sketch,
  SketchTask,
  Standing,
  Stopping,
  TaskRecord,
  TaskSpec,
  TaskState,
  Tone,
  Topic,
  TrendRun,
  Version,
  Vital,
  Vitals,
} from "../generated/protocol.ts";
export {
  BROWSER_SYSTEMS,
  BROWSERS,
  FINAL_CONSTELLATION_STATES as FINAL_STATES,
  FOR_A_PERSON,
  GOAL_ANSWER_SUFFIX,
  ON_A_DEVICE,
  PHASE_OF_REASON,
  PHASE_OF_RUN,
  PHASE_OF_STATE,
  PRIORITY_WORDS,
  PURPOSE_WORDS,
  RIGHTS,
  WAITS,
} from "../generated/protocol.ts";

import type { RunRow } from "../generated/api.ts";
import type { Event as GeneratedEvent } from "../generated/protocol.ts";

/** The state of a run of a scenario. */
export type RunState = RunRow["state"];

/** An entity as it stands on the wire; which record it is follows from its key. */
export type Entity = { readonly [field: string]: unknown };

/** One numbered fact of a stream; `puts` holds whole entities, null removes. */
export type StreamEvent = Omit<GeneratedEvent, "puts"> & { puts: Record<string, Entity | null> };

export interface SnapshotFrame {
  t: "snapshot";
  stream: string;
  seq: number;
  hash: string;
  entities: Record<string, Entity>;
  /** A large snapshot comes in several frames: this one is `part` of `parts`. One that comes whole need not say so. */
  part?: number;
  parts?: number;
}

/** Unnumbered news, latest wins: progress, log lines, load. */
export interface BesideItem {
  about: string;
  attempt?: number;
  kind: string;
  stream: string;
  value: unknown;
}

export type LiveFrame =
  | { t: "ready"; history?: string; now_ms: number; protocol: number }
  | SnapshotFrame
  | { t: "events"; events: StreamEvent[] }
  | { t: "beside"; items: BesideItem[] }
  | { t: "resync"; stream: string; reason: string; unknown?: boolean }
  | { t: "refuse"; code: string; fix: string; reason: string }
  | { t: "pong"; at_ms: number; now_ms: number };
