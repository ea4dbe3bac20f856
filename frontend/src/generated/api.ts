/**
 * The routes of the REST API that the page calls, by verb and path, and the shapes of their bodies and answers.
 * Generated from protocol/schema/openapi.json by `make gen`; to have one more, call it in `src/link` first.
 */
import type {
  Attention, CatchUp, Category, Choice, ConstellationState, DeviceLink, DeviceWork, Effect, Fault, FaultKind,
  FaultState, FaultTarget, NotifyWhen, Overlap, PrincipalKind, Priority, Profile, Purpose, Reason, RecipeTrend,
  Repeatability, Role, RunReport, ScheduleState, ScheduleTrend, Sharing, Vitals,
} from "./protocol.ts";

/** An event of any stream, without the state that it changed. */
export interface ActivityRow {
  about: string;
  /** The name of the device, or of the holder of the token or link, that it is about; empty where it has none. */
  about_name: string;
  at: string | null;
  by: string;
  /** The author by name, without the token: a device by its present name, and *the hub* for its own parts. */
  by_name: string;
  category: Category;
  /** The paths that a finished task wrote, moved or put into the trash, up to a bound. */
  files: string[];
  /** The number of all of them. */
  files_count: number;
  kind: string;
  note: string;
  pos: number;
  seq: number;
  stream: string;
  /** The name of the constellation whose event it is; empty for the fleet and access, and for one that is pruned. */
  stream_name: string;
}

/** A device that was looked at for a task. */
export interface Alternative {
  device: string;
  fits: boolean;
  why: string;
}

/** The whole text of the assistant; prose and fences around the plan are ignored. */
export interface AnswerOf {
  answer: string;
}

export interface AnswerPart {
  artifact: string | null;
  bytes: number;
  checked: boolean;
  from: AnswerSource;
  media: string | null;
  pointer: string;
  show: string;
  title: string;
  value: unknown;
}

/** The answer of a constellation; one without an answer yet has the state `none`. */
export interface AnswerShape {
  cites?: CiteRow[];
  items: AnswerPart[];
  sentence: string;
  state: string;
  struck?: string[];
  verdict?: VerdictRow;
  words?: string;
}

/** The attempt that gave a part of an answer. */
export interface AnswerSource {
  attempt: number;
  device: string | null;
  device_name: string | null;
  task: string;
}

export interface Answered {
  reason?: string;
  value: string;
}

/** `always` allows this tool with these arguments here from now on; `anyway`: devices of the plan may be gone. */
export interface Approved {
  always?: boolean;
  anyway?: boolean;
  reason?: string;
}

/** A question of a device to its owner; `line` answers it on the device. */
export interface AskRow {
  action: string;
  answer: string | null;
  answered_by: string | null;
  answers: string;
  args: string;
  asked_at: string | null;
  constellation: string;
  constellation_name: string;
  device: NamedDevice;
  expires_at: string | null;
  id: string;
  line: string;
  task: string;
  tool: string;
}

/** A change of a running constellation that is only asked about: of its devices, or an edit of its plan. */
export interface AskedOfRun {
  edit?: EditAsked | null;
  with_copy_of?: string[];
  within_s?: number | null;
  without?: string[];
}

/** A request in words whose first prompt is shown; `sharing` as in a submission. */
export interface AskedPrompt {
  params?: Record<string, unknown>;
  request: string;
  sharing?: Sharing | null;
}

/** An open question to a person, beside the explanation of what waits for it. */
export interface AskedRow {
  /** Who asks, as the subject of a sentence. */
  by: string;
  /** `CONSTELLATION:QUESTION`, as `starloom approve` takes it. */
  id: string;
  /** The task or group that waits for the answer; null: the whole constellation does. */
  task: string | null;
  text: string;
  /** The values that answer it. */
  values: string[];
  /** Whether words of a person's own answer it as well. */
  words: boolean;
}

/** A request, and the change: devices that are not there, and devices of which there is a copy, by name or id. */
export interface AskedWhatIf {
  params?: Record<string, unknown>;
  plan?: Record<string, unknown> | string | null;
  recipe?: string | null;
  request?: string | null;
  with_copy_of?: string[];
  within_s?: number | null;
  without?: string[];
}

/** A reason for which a constellation needs a person, as a sentence. */
export interface AttentionRow {
  reason: Attention;
  sentence: string;
}

/** A version with its author and reason. */
export interface BlameLine {
  at: string | null;
  author: string;
  reason: string;
  trigger: string;
  version: number;
}

/** A task or dependency with the versions that made it as it is. */
export interface BlameRow {
  added: BlameLine | null;
  changed: BlameLine[];
  id: string;
  kind: "dependency" | "task";
}

/** A device that the plan of a schedule names: by `name` there, whether it `left`, whether another has the name. */
export interface BoundDeviceRow {
  another: boolean;
  left: boolean;
  name: string;
}

/** A simulated device, and the faults that are possible for it now. */
export interface BreakableDevice {
  can: Record<string, FaultKind[]>;
  id: string;
  name: string;
  why_not: string | null;
}

/** A request as a text for an assistant, and the parts that did not fit. */
export interface BriefText {
  bytes: number;
  left_out: string[];
  text: string;
}

/** The chance to stay inside the budget of the model that most probably ends first; null: it is not known yet. */
export interface BudgetChance {
  budget: string;
  chance: number | null;
  of: string;
  runs: number;
  said: string;
}

/** A call that a plan would make, with whole arguments. */
export interface CallRow {
  args: unknown;
  devices: string[];
  effects: Effect[];
  task: string;
  tool: string;
}

/** A device that was considered for a task; `reason` is in words, `code` is null where it fits. */
export interface CandidateRow {
  code: Reason | null;
  device: string;
  fits: boolean;
  name: string;
  reason: string;
}

/** A place where the history contradicts itself. */
export interface ChainBreak {
  pos: number;
  what: string;
}

/** The check of the whole chain: `anchor` is its last link, to be kept elsewhere. */
export interface ChainCheck {
  anchor: string;
  breaks: ChainBreak[];
  commits: number;
  events: number;
  link: string;
  ok: boolean;
  pos: number;
  pruned: PrunedParts;
  unchained: number;
  unseen_anchors: number[];
}

/** A recipe as text (YAML or JSON), or as a document. */
export interface Checked {
  recipe: Record<string, unknown> | string;
}

/** The evidence of an answer in words: a task's value, or the part of it at `pointer`. */
export interface CiteRow {
  pointer: string;
  task: string;
}

/** Scheduled work and its clock. `from_constellation` repeats the request of that constellation. */
export interface ClockAsked {
  cron?: string;
  from_constellation?: string | null;
  params?: Record<string, unknown>;
  plan?: Record<string, unknown> | string | null;
  recipe?: string | null;
  request?: string | null;
  zone?: string;
}

/** A draft that is closed. */
export interface Closed {
  closed: boolean;
}

/** The consent of a person to every firing that reaches no further. */
export interface ConsentRow {
  at: string | null;
  by: string;
  computing: (string | null)[];
  devices: (string | null)[];
  effects: Effect[];
  grants: string[];
  plan_hash: string;
}

/** A line of the list of constellations. */
export interface ConstellationRow {
  /** It succeeded, and its answer tells of trouble. */
  alarm: boolean;
  attention: Attention[];
  author: string;
  created_at: string | null;
  ended_at: string | null;
  id: string;
  labels: Record<string, string>;
  name: string;
  recipe: string | null;
  request: string;
  /** Its tasks that are at work on a device: not those on one that does not answer, or that wait for a tap. */
  running: number;
  schedule: string | null;
  sentence: string;
  state: ConstellationState;
  /** Its final state before work of it was undone. */
  undone_from: ConstellationState | null;
  version: number;
  /** Of an ended one, the time in which a question to a person was open. */
  waited_ms: number;
}

/** `value` and `state` belong to `mark`; `confirm` names work that may run again. */
export interface Control {
  confirm?: string[];
  reason?: string;
  state?: "succeeded" | "failed" | "skipped";
  value?: unknown;
}

/** A constellation after a control, and the last event of its log then. */
export interface Controlled {
  id: string;
  seq: number;
  state?: ConstellationState;
}

/** An estimate with its chance to end within the time that was asked for; null if none was. */
export interface Course {
  chance: number | null;
  expected_ms: number;
  high_ms: number;
  left_out?: string[];
  low_ms: number;
  plays: number;
}

/** A new constellation. `budget` bounds the cost of a language model, in dollars; `attempts` the work of devices. */
export interface Create {
  able?: boolean;
  attempts?: number | null;
  budget?: number | null;
  deadline_s?: number;
  hold?: boolean;
  labels?: Record<string, string>;
  name?: string;
  params?: Record<string, unknown>;
  plan?: Record<string, unknown> | string | null;
  plan_hash?: string | null;
  priority?: Priority | null;
  recipe?: string | null;
  request?: string | null;
  sharing?: Sharing | null;
}

/** A new constellation; the answer is there where the caller waited for it and it came. */
export interface Created {
  answer?: AnswerShape;
  attention?: Attention[];
  id: string;
  running?: number;
  state: ConstellationState;
  version: number;
}

/** The most that the model may cost in a day; null is no limit. */
export interface DayBudget {
  dollars_per_day: number | null;
  tokens_per_day: number | null;
}

/** `deadline_s` belongs to a drain: repeatable work is moved away after it; 0 is at once, absent never. */
export interface DeviceControl {
  deadline_s?: number | null;
  reason?: string;
}

/** A device with its tools; `open` is where a person opens the page of a tab that is asleep. */
export interface DeviceDetail {
  aside: string;
  condition: Record<string, string>;
  demo: boolean;
  drain_reason: string;
  drain_until: string | null;
  draining: boolean;
  facts: Record<string, string>;
  forgotten: boolean;
  former_names: string[];
  grants: string[];
  health: HealthRow;
  hub_computer: "" | "former" | "own";
  id: string;
  joined_at: string | null;
  labels: string[];
  left: boolean;
  link: DeviceLink;
  link_since: string | null;
  load: string;
  name: string;
  older_than: string;
  open: PageAddress | null;
  os: string;
  over: string;
  profile: Profile;
  profile_most: Profile;
  quarantined: boolean;
  refused: string;
  remembers: string;
  reserved: boolean;
  revoked: boolean;
  running: number;
  session: number;
  slots: number;
  slow: string;
  tools: ToolRow[];
  version: string;
}

/** A device with the names of the tools that it has now. */
export interface DeviceRow {
  aside: string;
  condition: Record<string, string>;
  demo: boolean;
  drain_reason: string;
  drain_until: string | null;
  draining: boolean;
  facts: Record<string, string>;
  forgotten: boolean;
  former_names: string[];
  grants: string[];
  health: HealthRow;
  hub_computer: "" | "former" | "own";
  id: string;
  joined_at: string | null;
  labels: string[];
  left: boolean;
  link: DeviceLink;
  link_since: string | null;
  load: string;
  name: string;
  older_than: string;
  os: string;
  over: string;
  profile: Profile;
  profile_most: Profile;
  quarantined: boolean;
  refused: string;
  remembers: string;
  reserved: boolean;
  revoked: boolean;
  running: number;
  session: number;
  slots: number;
  slow: string;
  tools: string[];
  version: string;
}

/** The tasks that a person is editing; a page repeats this before `ttl_s` is over. */
export interface DraftOf {
  tasks: string[];
  ttl_s?: number;
}

/** The tasks that a draft reserves, and until when. */
export interface DraftRow {
  expires_at: string | null;
  tasks: string[];
}

/** A batch of operations; `{undo: {version: n}}` stands alone and takes back that version. */
export interface Edit {
  base_version?: number | null;
  confirm?: string[];
  operations: unknown[];
  reason?: string;
  retry?: string[];
}

/** An edit that is only asked about: a base version and its operations. */
export interface EditAsked {
  base_version: number;
  operations: unknown[];
}

/** The version that an edit made. */
export interface Edited {
  version: number;
}

/** `preapproved` lets the device in without comparing words: for devices of this machine, or reached by ssh. */
export interface Enroll {
  demo?: boolean;
  devices?: number;
  ends_in_s?: number;
  installs?: boolean;
  label?: string;
  labels?: string[];
  name?: string;
  preapproved?: boolean;
  profile_most?: Profile;
  replaces?: string;
}

/** A join code with the devices that were refused with it. */
export interface EnrollmentDetail {
  code_of: string;
  created_at: string | null;
  demo: boolean;
  device: string | null;
  devices: number;
  expires_at: string | null;
  id: string;
  label: string;
  labels: string[];
  name: string;
  os: string;
  owner: string;
  preapproved: boolean;
  profile_most: Profile;
  reason: string;
  refused: RefusedRow[];
  replaces: string;
  state: string;
  used: number;
  words: string;
}

/** A join code, or a device that joins by one. */
export interface EnrollmentRow {
  code_of: string;
  created_at: string | null;
  demo: boolean;
  device: string | null;
  devices: number;
  expires_at: string | null;
  id: string;
  label: string;
  labels: string[];
  name: string;
  os: string;
  owner: string;
  preapproved: boolean;
  profile_most: Profile;
  reason: string;
  replaces: string;
  state: string;
  used: number;
  words: string;
}

/** The time that a plan should take in milliseconds; four of five runs should end between `low` and `high`. */
export interface Estimate {
  expected_ms: number;
  high_ms: number;
  low_ms: number;
}

/** Events in order; `next` is the number of the last one. */
export interface EventPage {
  items: EventRow[];
  next: number;
}

/** One numbered event; `puts` are the entities that it changed, null for a removed one. */
export interface EventRow {
  about?: string;
  at_ms: number;
  by: string;
  kind: string;
  note?: string;
  puts: Record<string, unknown>;
  seq: number;
  stream: string;
}

/** A phrase of a recipe filled with values, read as a request: the values that it gives, or why it does not fit. */
export interface ExampleTried {
  fits: boolean | null;
  params: Record<string, unknown>;
  why: string;
  words: string;
}

/** The state that a scenario expects, and the time within which it is reached. */
export interface Expectation {
  state: string;
  within_s: number;
}

/** When an open task began or should begin, when it should end, and the id of its expected device. */
export interface ExpectedTask {
  begin_ms: number;
  device: string;
  end_ms: number;
  task: string;
}

/** The work of one constellation that a fault affected, and how often each device began each task. */
export interface FaultMeeting {
  begun: Record<string, Record<string, number>>;
  begun_lines: string[];
  constellation: string;
  ended: boolean;
  name: string;
  state: string;
  story: StoryRow[];
}

/** A fault of a simulated device. */
export interface FaultRow {
  asked_at: string | null;
  began_at: string | null;
  by: string;
  by_s: number | null;
  constellations: string[];
  device: string;
  device_name: string;
  ended_at: string | null;
  for_s: number;
  healing: boolean;
  id: string;
  kind: FaultKind;
  note: string;
  state: FaultState;
  target: FaultTarget;
}

/** The time of a fault in a scenario: an event and its task, seconds, or a share of ended tasks. */
export interface FaultTime {
  after_s?: number;
  event?: string;
  progress?: number;
  task?: string;
}

/** A fault with its report: one entry for each constellation that it affected. */
export interface FaultWhole {
  asked_at: string | null;
  began_at: string | null;
  by: string;
  by_s: number | null;
  constellations: string[];
  device: string;
  device_name: string;
  ended_at: string | null;
  for_s: number;
  healing: boolean;
  id: string;
  kind: FaultKind;
  note: string;
  report: FaultMeeting[];
  state: FaultState;
  target: FaultTarget;
}

/** Simulated devices and their faults. */
export interface Faults {
  devices: BreakableDevice[];
  for_s_most: number;
  items: FaultRow[];
  next: string | null;
}

/** The newest firing that has ended. `alarm`: it succeeded, and its answer tells of trouble. */
export interface FiringRow {
  alarm: boolean;
  constellation: string;
  due_at: string;
  ended_at: string | null;
  state: ConstellationState;
}

/** The first text that the model would be sent for a request in words, and where it goes; nothing was sent. */
export interface FirstPrompt {
  bytes: number;
  dollars: number | null;
  /** The model that is asked where the first is away. */
  fallback?: ModelHost;
  host: string;
  hub_share: Sharing;
  local: boolean;
  model: string;
  parts: PromptRow[];
  share: Sharing;
  tokens: number;
}

/** A fork from a version or a task; `inputs`: new arguments by task and name; `confirm`: work that may run again. */
export interface Fork {
  confirm?: string[];
  from_task?: string | null;
  from_version?: number | null;
  inputs?: Record<string, Record<string, unknown>>;
  name?: string;
  reason?: string;
}

/** A fork; only its id where the same request has made it before. */
export interface Forked {
  id: string;
  state?: string;
  version?: number;
}

/** The answer that a question took. */
export interface GivenAnswer {
  answer: string;
  id: string;
}

/** A grant that the owner of a device would have to give, with the line to type there. */
export interface GrantLine {
  device: string;
  grant: string;
  line: string;
  task: string;
}

/** The health of a device: its state, and the faults that count. */
export interface HealthRow {
  faults: number;
  state: string;
}

/** The holder of a token. */
export interface Holder {
  kind: PrincipalKind;
  name: string;
}

/** The disk under the hub's data folder at this moment; where it cannot be read, `fault` says why. */
export interface HubDisk {
  fault: string;
  folder: string;
  free_bytes: number | null;
  whole_bytes: number | null;
}

/** The terms of an invitation's link: for whom, by whom, and the rights of that person then. */
export interface InvitationRow {
  /** Who invites; empty if that is not known any more. */
  by: string;
  for: string;
  /** The rights of the person, in words. */
  may: string[];
  role: Role;
  /** The end of the rights. */
  until: string | null;
}

/** A token with its text, shown this once. */
export interface IssuedToken {
  created_at: string | null;
  ends_asker: boolean;
  expires_at: string | null;
  for: Holder | null;
  id: string;
  kind: string;
  label: string;
  last_used_at: string | null;
  link_until: string | null;
  link_used_at: string | null;
  link_used_with: string;
  principal: string;
  revoked_at: string | null;
  role: Role;
  scopes: string[];
  token: string;
}

/** `action` identifies the question that the caller saw; an answer to another one is refused. */
export interface Judged {
  action?: string;
  reason?: string;
}

/** A slot that no device fits, and the way to add one: the browser of a phone, or a line to type. */
export interface LackRow {
  reason: string;
  slot: string;
  way: "line" | "phone";
}

/** The listener of the local network. */
export interface LanRow {
  certificate_expires_at: string | null;
  fault: string;
  open: boolean;
  pin: string;
  url: string;
  warning: string;
  words: string;
}

/** The lines by which a device of the local network joins. */
export interface LanWays {
  agent_line: string;
  line: string;
  pin: string;
  url: string;
  windows_line: string;
  words: string;
}

/** A plan that ended clean after a look or an answer, and that code cannot make again: `because` says why. */
export interface LeftRow {
  because: string;
  constellation: string;
  request: string;
}

/** The terms of a sign-in link before it is used; no invitation where a person made it for themselves. */
export interface LinkTerms {
  invitation: InvitationRow | null;
}

/** A ticket that opens one live socket. */
export interface LiveTicket {
  ticket: string;
}

/** A parameter of a recipe that words did not give. */
export interface MissingParam {
  choices: string[];
  name: string;
  reason: string;
  title: string;
  type: string;
}

/** The fault of the settings of a model. */
export interface ModelFaultRow {
  hint: string;
  reason: string;
}

/** A model and the host that it is asked at. */
export interface ModelHost {
  host: string;
  model: string;
}

/** The model that a role has beside the planner's: reviewer, writer, judge, worker, small or fallback. */
export interface ModelOfRole {
  host: string;
  model: string;
  role: string;
}

/** The reply to a test of the model. */
export interface ModelReply {
  reply: string;
  seconds: number;
  tokens: number;
}

/** The part of a model. Each may have an endpoint of its own, else it is the planner's. */
export type ModelRole = "planner" | "reviewer" | "writer" | "judge" | "worker" | "small" | "fallback";

/** The model of this hub, without its key. `given`: the hub's own settings name it. */
export interface ModelState {
  budget?: DayBudget;
  fault?: ModelFaultRow;
  given: boolean;
  given_roles?: string[];
  host?: string;
  key?: boolean;
  model?: string;
  others?: ModelOfRole[];
  parts: PromptRow[];
  roles?: RoleSetting[];
  set: boolean;
  share?: Sharing;
  spent_today: Spent;
  url?: string | null;
  wire?: string;
}

/** A device by id and name. */
export interface NamedDevice {
  id: string;
  name: string;
}

/** A question with the name of its constellation. */
export interface NamedQuestionRow {
  action: string | null;
  answer: string | null;
  answered_at: string | null;
  answered_by: string | null;
  calls: CallRow[];
  choices: Choice[];
  constellation: string;
  constellation_name: string;
  effects: Effect[];
  expires_at: string | null;
  id: string;
  kind: string;
  once_because: string;
  opened_at: string | null;
  operations: unknown;
  question: string;
  reason: string;
  shown: ShownRow | null;
  task: string | null;
  text: string;
  usual: string;
  version: number;
  wider: string[];
}

/** A join code, shown this once, with every way to use it. */
export interface NewEnrollment {
  agent_line: string;
  code: string;
  code_of: string;
  created_at: string | null;
  demo: boolean;
  device: string | null;
  devices: number;
  expires_at: string | null;
  id: string;
  label: string;
  labels: string[];
  lan: LanWays | null;
  line: string;
  name: string;
  os: string;
  owner: string;
  phone: PhoneWay;
  preapproved: boolean;
  profile_most: Profile;
  reason: string;
  replaces: string;
  ssh_line: string;
  state: string;
  url: string;
  used: number;
  windows_line: string;
  words: string;
}

/** A fault to inject: its device (name or id), kind and duration. `by_s` is the size of a delay or clock error. */
export interface NewFault {
  by_s?: number | null;
  device: string;
  for_s?: number;
  kind: FaultKind;
  target: "device" | "link";
}

/** A sign-in link: for oneself, or for a person by name with the rights that it is to have. */
export interface NewLink {
  for?: string;
  role?: Role | null;
  scopes?: string[];
  ttl_s?: number;
}

/** The role that a person or a program is to have. */
export interface NewRole {
  role: Role;
}

/** A run of a scenario, with its own seed or another. */
export interface NewRun {
  seed?: number | null;
}

/** `plan_hash` approves the plan of the preview, for every firing that reaches no further. */
export interface NewSchedule {
  catch_up?: CatchUp;
  cron?: string;
  deadline_s?: number;
  from_constellation?: string | null;
  name?: string;
  notify?: NotifyWhen;
  notify_device?: string | null;
  overlap?: Overlap;
  params?: Record<string, unknown>;
  plan?: Record<string, unknown> | string | null;
  plan_hash?: string | null;
  recipe?: string | null;
  request?: string | null;
  zone?: string;
}

export interface NewToken {
  for?: string;
  kind?: PrincipalKind | null;
  label?: string;
  role?: Role;
  scopes?: string[];
  ttl_s?: number;
}

/** A value, and who may receive it. A list that is not given stays as it was; an empty one means any. */
export interface NewValue {
  base_version?: number | null;
  devices?: string[] | null;
  recipes?: string[] | null;
  tools?: string[] | null;
  value: string;
}

/** The notices that the caller has not seen, by the newest, and their number. */
export interface NoticeRow {
  at: string | null;
  constellation: string | null;
  count: number;
  text: string;
}

/** Output of an attempt: a range of it, or the found `lines`. */
export interface Output {
  end?: number;
  lines?: OutputLine[];
  lost?: ([number, number])[];
  next?: number;
  offset?: number;
  text: string;
}

/** A found line of output, and the offset at which it begins. */
export interface OutputLine {
  offset: number;
  text: string;
}

/** The address of a page and its QR code. */
export interface PageAddress {
  qr: QrCode;
  url: string;
}

/** The plan that was found in an assistant's answer, with its preview. */
export interface PastedPlan {
  asks_approval: boolean;
  budget?: BudgetChance;
  cost: null;
  effects: Effect[];
  estimate: Estimate | null;
  estimate_said?: string;
  faults?: PreviewFault[];
  held: string[];
  missing_grants: GrantLine[];
  name: string;
  params: unknown;
  plan: string;
  plan_hash: string;
  recipe: string | null;
  results: ResultRow[];
  rules: RuleRow[];
  secrets: SecretNeed[];
  tasks: TaskPreviewRow[];
  warnings: string[];
}

export interface PatchDevice {
  labels?: string[] | null;
  name?: string | null;
}

/** The fields that are given change; `request`, `plan` or `recipe` change the work of the schedule. */
export interface PatchSchedule {
  catch_up?: CatchUp | null;
  cron?: string | null;
  deadline_s?: number | null;
  name?: string | null;
  notify?: NotifyWhen | null;
  notify_device?: string | null;
  overlap?: Overlap | null;
  params?: Record<string, unknown> | null;
  plan?: Record<string, unknown> | string | null;
  plan_hash?: string | null;
  recipe?: string | null;
  request?: string | null;
  zone?: string | null;
}

/** A principal by id and name. */
export interface PersonRow {
  id: string;
  name: string;
}

/** The address that a phone opens, or `why` there is none and the way out. */
export interface PhoneWay {
  qr: QrCode | null;
  url: string;
  warning: string;
  way_out?: string;
  why: string;
  words: string;
}

/** A page that answers words; its path is below the address of the hub. */
export interface PlaceRow {
  path: string;
  title: string;
}

/** A plan as it would run now; `faults` are among the `warnings`. */
export interface PlanPreview {
  asks_approval: boolean;
  budget?: BudgetChance;
  cost: null;
  effects: Effect[];
  estimate: Estimate | null;
  estimate_said?: string;
  faults?: PreviewFault[];
  /** The tasks that are held, or refused, until somebody has given a grant or a secret; optional ones are none. */
  held: string[];
  missing_grants: GrantLine[];
  name: string;
  params: unknown;
  plan_hash: string;
  recipe: string | null;
  results: ResultRow[];
  rules: RuleRow[];
  secrets: SecretNeed[];
  tasks: TaskPreviewRow[];
  warnings: string[];
}

/** A request to be looked at. `budget` is the money that it would be given for a language model, in dollars. */
export interface Preview {
  budget?: number | null;
  params?: Record<string, unknown>;
  plan?: Record<string, unknown> | string | null;
  recipe?: string | null;
  request?: string | null;
}

/** A task that cannot work as it is written, why, and what to type or write in its place. */
export interface PreviewFault {
  reason: string;
  task: string;
  way_out: string;
}

/** A principal with its kind. */
export interface PrincipalRow {
  id: string;
  kind: PrincipalKind;
  name: string;
}

/** A part of a planning prompt as it is sent. */
export interface PromptRow {
  text: string;
  title: string;
}

/** The proposals of the caller, the newest first, and the plans that are none. */
export interface ProposalList {
  items: ProposalRow[];
  left_out: LeftRow[];
  next: null;
}

/** A plan that ended clean, as the recipe that it would become. `request` are the words that the person typed. */
export interface ProposalRow {
  answers: string[];
  constellation: string;
  document: Record<string, unknown>;
  effects: Effect[];
  id: string;
  name: string;
  phrase: string;
  proposed_at: string | null;
  request: string;
  text: string;
  title: string;
  values: Record<string, unknown>;
}

/** The parts of the history that were pruned. */
export interface PrunedParts {
  anchors: number;
  commits: number;
  constellations: number;
  first_at: string | null;
  last_at: string | null;
  why: string[];
}

/** A QR code as the side of its square and one SVG path over it. */
export interface QrCode {
  path: string;
  size: number;
}

export interface Reasoned {
  reason?: string;
}

/** A recipe that words may mean; `score` is thousandths. `trial` is null for one that is trusted. */
export interface RecipeCandidate {
  missing: MissingParam[];
  params: Record<string, unknown>;
  recipe: string;
  score: number;
  title: string;
  trial: TrialRow | null;
  unused?: string[];
}

/** A recipe that was read; `lacking` has a sentence for each tool of it that no device offers now. */
export interface RecipeChecked {
  asks_for: Record<string, string[]>;
  built_in: boolean;
  clock: boolean;
  effects: Effect[];
  lacking: string[];
  name: string;
  params: Record<string, RecipeParam>;
  phrases: string[];
  title: string;
  version: number;
}

/** The trial of a recipe with the demo devices; `words` are empty while none is in reach. */
export interface RecipeDemo {
  devices: string[];
  leaves: string;
  words: string;
}

/** The recipe that an action was about. */
export interface RecipeNamed {
  name: string;
}

/** A parameter of a recipe as a form shows it; one with a default counts as optional. */
export interface RecipeParam {
  default: unknown;
  needs: string[];
  optional: boolean;
  spoken: boolean;
  title: string;
  type: string;
}

/** A recipe in the list, with its card; `trust` is null for one that is built in. */
export interface RecipeRow {
  asks_for: Record<string, string[]>;
  built_in: boolean;
  clock: boolean;
  demo: RecipeDemo | null;
  effects: Effect[];
  name: string;
  params: Record<string, RecipeParam>;
  phrases: string[];
  purpose: Purpose | null;
  sentence: RecipeSentence;
  shape: RecipeShape;
  title: string;
  trust: TrustRow | null;
  version: number;
}

/** A recipe's sentence on the devices of now; owners of the `ungranted` devices have not allowed what it needs. */
export interface RecipeSentence {
  lacks: LackRow[];
  parts: SentencePart[];
  ungranted: string[];
  words: string;
}

/** The tasks of a recipe as a small drawing; empty for a plan that is too large for a card. */
export interface RecipeShape {
  columns: number;
  links: ([number, number])[];
  rows: number;
  tasks: ShapeTask[];
}

/** A recipe that was checked, with each of its phrases as it is read here. */
export interface RecipeTried {
  asks_for: Record<string, string[]>;
  built_in: boolean;
  clock: boolean;
  effects: Effect[];
  examples: ExampleTried[];
  lacking: string[];
  name: string;
  params: Record<string, RecipeParam>;
  phrases: string[];
  title: string;
  version: number;
}

/** A version of a saved recipe that is kept, with its runs. */
export interface RecipeVersionRow {
  author: string;
  back_from: number;
  because: string;
  runs: RunsRow;
  saved_at: string | null;
  title: string;
  version: number;
}

/** A recipe whole, with its card; `trust` is null for one that is built in. */
export interface RecipeWhole {
  asks_for: Record<string, string[]>;
  built_in: boolean;
  clock: boolean;
  demo: RecipeDemo | null;
  document: Record<string, unknown>;
  effects: Effect[];
  name: string;
  params: Record<string, RecipeParam>;
  phrases: string[];
  plan: Record<string, unknown>;
  purpose: Purpose | null;
  sentence: RecipeSentence;
  shape: RecipeShape;
  text: string;
  title: string;
  trust: TrustRow | null;
  version: number;
}

/** A refusal at a door of the hub, and how often it was repeated. */
export interface RefusedRow {
  address: string;
  at: string | null;
  code: string;
  door: string;
  enrollment: string;
  reason: string;
  times: number;
  who: string;
}

/** A schedule that is removed; firings that still run go on. */
export interface RemovedSchedule {
  id: string;
  name: string;
  removed: boolean;
  running: string[];
}

/** The plan that a request would run now; words without an exact match have no plan. */
export interface RequestPreview {
  asks_approval?: boolean;
  budget?: BudgetChance;
  cost?: null;
  effects?: Effect[];
  estimate?: Estimate | null;
  estimate_said?: string;
  faults?: PreviewFault[];
  held?: string[];
  may_not?: string;
  missing_grants?: GrantLine[];
  name?: string;
  params?: unknown;
  plan_hash: string | null;
  recipe?: string | null;
  results?: ResultRow[];
  rules?: RuleRow[];
  secrets?: SecretNeed[];
  tasks: TaskPreviewRow[];
  understood?: Understood;
  warnings?: string[];
}

export interface ResultRow {
  from: string;
  show: string;
  title: string;
}

/** A standing approval that is revoked. */
export interface Revoked {
  id: string;
}

/** A token that is revoked. */
export interface RevokedToken {
  id: string;
  revoked: boolean;
}

/** How often words say that they run: the clock of a schedule, also in words, and the words without it. */
export interface RhythmRow {
  cron: string;
  in_words: string;
  request: string;
}

/** A principal with its role, and how many tokens and sessions of it are good now. */
export interface RoleRow {
  id: string;
  kind: PrincipalKind;
  /** The last use since the hub began, also of what was revoked. */
  last_used_at: string | null;
  name: string;
  /** When the last right of it was revoked; none while something is good, or if nothing was revoked lately. */
  revoked_at: string | null;
  role: Role;
  /** The scopes to which all that is good of it is limited; empty if something has the whole role. */
  scopes: string[];
  sessions: number;
  tokens: number;
}

/** The model that the page has set for a role, without its key; an empty `url` is the planner's address. */
export interface RoleSetting {
  key: boolean;
  model: string;
  role: string;
  url: string;
  wire: string;
}

/** A rule of a plan; `calls` are the calls of tasks that it may add or change, as `tell: notify`. */
export interface RuleRow {
  calls: string[];
  name: string;
  reason: string;
  task: string | null;
}

/** The rest of a run; four of five runs should end between `low_ms` and `high_ms`, which are moments. */
export interface RunCourse {
  chance: number | null;
  end_ms: number;
  high_ms: number | null;
  left_out?: string[];
  low_ms: number | null;
  more: number;
  plays: number;
  tasks: ExpectedTask[];
}

/** The latest run of a scenario. */
export interface RunInShort {
  ended_at: string | null;
  id: string;
  state: "failed" | "met" | "not_met" | "running" | "starting" | "stopped";
}

/** A run of a scenario: its story as far as it has come, and its verdict once there is one. */
export interface RunRow {
  began_at: string | null;
  effects: Record<string, Record<string, number>>;
  end: string | null;
  ended_at: string | null;
  id: string;
  misses: string[];
  said: string[];
  scenario: string;
  seed: number;
  state: "failed" | "met" | "not_met" | "running" | "starting" | "stopped";
  story: StoryRow[];
  took_s: number | null;
  why: string;
}

/** The rest of a run after event `seq`, at the hub's time `at_ms`, now and after a change. */
export interface RunWhatIf {
  at_ms: number;
  budget?: BudgetChance;
  by_ms: number | null;
  change: string;
  id: string;
  now: RunCourse | null;
  said: string;
  seq: number;
  stands_ms: number;
  then: RunCourse | null;
}

/** The runs of a saved recipe, or of one version of it. `failed` leaves out failures by a device alone. */
export interface RunsRow {
  clean: number;
  failed: number;
  last_clean: string;
  last_clean_at: string | null;
  last_failed: string;
  last_failed_at: string | null;
}

/** `base_version` is the version that the caller saw; without it the name must be new here. */
export interface Saved {
  base_version?: number | null;
  proposal?: string;
  reason?: string;
  recipe: Record<string, unknown> | string;
}

/** A fault that a scenario makes. */
export interface ScenarioFault {
  at: FaultTime;
  device: string | null;
  for_s: number;
  kind: FaultKind;
  target: FaultTarget;
}

/** A scenario that came with Starloom, with its latest run. */
export interface ScenarioRow {
  about: string;
  devices: string[];
  expect: Expectation;
  faults: ScenarioFault[];
  latest: RunInShort | null;
  name: string;
  seed: number;
  title: string;
}

/** The moments of a clock and the plan as it would run now; either may be left out. */
export interface SchedulePreview {
  in_words: string;
  next: string[];
  plan: PlanPreview | null;
  runs: ScheduledWork | null;
  zone: string;
}

/** A schedule with its next five firings. */
export interface ScheduleRow {
  approved: ConsentRow | null;
  /** Those of `running` whose plan waits for an approval. */
  asking: string[];
  author: string;
  catch_up: CatchUp;
  created_at: string | null;
  cron: string;
  deadline_s: number;
  devices: BoundDeviceRow[];
  fired: number;
  id: string;
  in_words: string;
  last: FiringRow | null;
  name: string;
  next: string[];
  notice: NoticeRow | null;
  notify: NotifyWhen;
  notify_device: string | null;
  overlap: Overlap;
  params: unknown;
  recipe: string | null;
  request: string;
  running: string[];
  skipped: number;
  state: ScheduleState;
  stopped: Fault | null;
  waiting: string[];
  zone: string;
}

/** The work of a schedule: a plan, a recipe or words. */
export interface ScheduledWork {
  kind: string;
  name: string;
  params: unknown;
  recipe: string | null;
  request: string;
}

/** A secret that a plan names, and the devices that would be given it; `line` sets one that is missing. */
export interface SecretNeed {
  devices: string[];
  line: string | null;
  name: string;
  set: boolean;
  tasks: string[];
  version: number | null;
}

/** A secret without its value. An empty list of devices, recipes or tools means any. */
export interface SecretRow {
  created_at: string | null;
  devices: NamedDevice[];
  last_used_at: string | null;
  name: string;
  recipes: string[];
  set_at: string | null;
  set_by: string;
  tools: string[];
  version: number;
}

/** The schedules whose notices a person has seen, by id or name. */
export interface SeenNotices {
  schedules: string[];
}

/** A piece of a sentence: plain words, the name of a device, a value that a person may change, a missing device. */
export interface SentencePart {
  kind: "device" | "missing" | "value" | "words";
  text: string;
}

/** The caller, its rights, and the hub's time; a page also gets its CSRF token. */
export interface SessionRow {
  approves: boolean;
  csrf?: string;
  expires_at: string | null;
  /** The device that is the hub's own computer. */
  hub_device: string | null;
  lab: boolean;
  means: string;
  now: string | null;
  /** The role that its person has now; a sign-in keeps the one that it began with, until the person signs in again. */
  person_role: Role;
  principal: PrincipalRow;
  program: string;
  role: Role;
  scopes: string[];
  token: string;
}

/** `key` absent: the one that is kept for just this address; "": none. */
export interface SetModel {
  dollars_per_day?: number | null;
  key?: string | null;
  model: string;
  share?: Sharing;
  tokens_per_day?: number | null;
  url: string;
  wire?: "" | "openai" | "anthropic";
}

/** The model of a role. An empty `url` is the planner's address, with the planner's key; `key` as for `SetModel`. */
export interface SetRole {
  key?: string | null;
  model: string;
  url?: string;
  wire?: "" | "openai" | "anthropic";
}

/** A secret that was set; only name and version where it was removed at the same time. */
export interface SetSecret {
  created_at?: string | null;
  devices?: NamedDevice[];
  last_used_at?: string | null;
  name: string;
  recipes?: string[];
  set_at?: string | null;
  set_by?: string;
  tools?: string[];
  version: number;
}

/** A task of the drawing. `on` is its device parameter; `many`: it runs once for each of a list. */
export interface ShapeTask {
  column: number;
  many: boolean;
  on: string | null;
  row: number;
  tool: string;
}

export interface ShownRow {
  from: string;
  left_out: number;
  output: string;
  value: unknown;
}

export interface SignInBody {
  id: string;
  secret: string;
}

/** A one-time sign-in link, and its address in the local network where that is open. */
export interface SignInLink {
  expires_at: string | null;
  lan_url: string | null;
  /** The QR code of the address in the local network, or of `url` where that is closed. */
  qr: QrCode;
  /** The token whose end is the end of the session. */
  token: string;
  url: string;
}

/** A session that was opened; its cookie comes beside the answer. */
export interface SignedIn {
  csrf: string;
  expires_at: string | null;
  principal: PersonRow;
  role: Role;
}

/** The end of a session. */
export interface SignedOut {
  signed_out: boolean;
}

/** The use of the model today. */
export interface Spent {
  calls: number;
  dollars: number;
  tokens: number;
}

/** A device in the last stop of everything; `link` is `revoked` for a device that no longer belongs here. */
export interface StopRow {
  asked: number;
  confirmed_at: string | null;
  id: string;
  left: string[];
  link: string;
  link_since: string | null;
  name: string;
}

/** A stop of everything with the constellations that it ended. */
export interface Stopped {
  at: string | null;
  by: string | null;
  constellations: string[];
  devices: StopRow[];
  reason: string;
}

/** A line of a story, in seconds since the hub accepted the request. */
export interface StoryRow {
  at_s: number;
  kind: string;
  text: string;
}

export interface Take {
  from: string;
  output: string;
}

/** A task of a preview; `device` is null where none fits. For a goal `why` is its envelope in words. */
export interface TaskPreviewRow {
  after: string[];
  alternatives: Alternative[];
  device: string | null;
  devices: string[];
  each: string | null;
  effects: Effect[];
  goal: string | null;
  grant: string | null;
  id: string;
  /** Whether a judge answers the question of `person` first. */
  judged: boolean;
  missing: GrantLine[];
  optional: boolean;
  person: string | null;
  repeatability: Repeatability | null;
  secrets: string[];
  takes: Take[];
  tool: string | null;
  why: string;
}

/** A token, session or invitation with its holder. */
export interface TokenRow {
  created_at: string | null;
  /** Whether its end is also the end of the token or session that asks. */
  ends_asker: boolean;
  expires_at: string | null;
  for: Holder | null;
  id: string;
  kind: string;
  label: string;
  last_used_at: string | null;
  /** Until when the link of an invitation opens the page; none once it was used or is too old. */
  link_until: string | null;
  /** When the link of an invitation was used; none while nobody has, or once the hub has forgotten it. */
  link_used_at: string | null;
  /** The browser that used it, as it names itself; empty if that is not known. */
  link_used_with: string;
  principal: string;
  revoked_at: string | null;
  role: Role;
  scopes: string[];
}

/** A tool of one device with its schemas, and why it is unavailable. */
export interface ToolRow {
  args: unknown;
  effects: Effect[];
  grant: string | null;
  name: string;
  repeatability: Repeatability;
  returns: unknown;
  self_verified: boolean;
  title: string;
  unavailable: string | null;
}

/** A recipe that words alone do not start yet: its clean runs in a row, those `needed`, the time of the newest. */
export interface TrialRow {
  clean: number;
  last_at: string | null;
  needed: number;
}

/** An empty body tries the model that is set; with `role` the model that it would be given. */
export interface TriedModel {
  dollars_per_day?: number | null;
  key?: string | null;
  model?: string;
  role?: "" | "reviewer" | "writer" | "judge" | "worker" | "small" | "fallback";
  share?: Sharing;
  tokens_per_day?: number | null;
  url?: string;
  wire?: "" | "openai" | "anthropic";
}

/** How far a saved recipe is trusted. `source` is the constellation that it was kept from, empty for another. */
export interface TrustRow {
  back_from: number;
  in_a_row: number;
  needed: number;
  runs: RunsRow;
  source: string;
  trial: boolean;
  unread: boolean;
  went_back: string;
}

/** The match of words with recipes; without an exact one, the sentence that says so. */
export interface Understood {
  by_model?: boolean;
  candidates: RecipeCandidate[];
  examples?: string[];
  /** Why no recipe carries them out, with requests between asterisks that help. */
  gap?: string;
  /** The ways out, a plan by hand among them. */
  hint?: string;
  /** The reason for which the model that is set cannot be asked. */
  model_fault?: ModelFaultRow;
  outcome: string;
  /** The pages that answer them, where they ask about Starloom itself. */
  places?: PlaceRow[];
  rhythm?: RhythmRow;
  said?: string;
  /** The most that this hub lets its model be shown of results, where the model can plan these words. */
  share?: Sharing;
  title?: string;
}

/** The tasks whose work is taken back; without names, all tasks that declare how. `preview` only tells them. */
export interface UndoWork {
  preview?: boolean;
  reason?: string;
  tasks?: string[];
}

/** The version that undoes work, and the tasks whose work cannot be undone. */
export interface Undone {
  cannot_be_undone: string[];
  undoing: string[];
  version: number;
}

/** The verdict of a judge on the whole answer: `holds` is yes, no or unclear; `by` says who gave it. */
export interface VerdictRow {
  because: string;
  by: string;
  cites: CiteRow[];
  holds: string;
}

/** A plan on the fleet of now and on a changed one; null where there is no estimate, and `said` says why. */
export interface WhatIf {
  change: string;
  name: string;
  now: Course | null;
  plan_hash: string;
  said: string;
  then: Course | null;
  within_ms: number | null;
}

/** The explanations of a constellation; `more` counts the tasks of which no item tells. */
export interface WhyAll {
  attention: AttentionRow[];
  /** The tasks that brought files to failed ones: retry-from of these reads them again. */
  brought_by?: string[];
  items: WhyRow[];
  more: number;
  /** All its open questions, the oldest first. */
  questions: AskedRow[];
  sentence?: string;
  state: ConstellationState;
  waits?: string;
}

/** The explanation of a task, or of the whole constellation where `task` is null, which has no field of a task. */
export interface WhyRow {
  /** Controls or command lines, the most useful first. */
  actions?: string[];
  /** The tasks that are left out of the list and wait as this one does. */
  alike?: number;
  /** The browser tabs for which the task waits, by name. */
  asleep?: string[];
  /** Of a failed task, those that brought its files from a device: retry-from of these reads them again. */
  brought_by?: string[];
  candidates: CandidateRow[];
  /** The tasks that a retry has to confirm. */
  confirm?: string[];
  /** Of a group, the calls that may have happened: a mark of the group ends them all. */
  doubted?: string[];
  /** The first of `actions`. */
  fix: string | null;
  /** The command line that gives the grant or the secret that it lacks; empty where it lacks none. */
  line?: string;
  /** The page that wakes them. */
  open?: PageAddress | null;
  /** The controls that the task allows now. */
  possible?: string[];
  /** The open questions whose answer it waits for. */
  questions?: AskedRow[];
  reason?: Reason | null;
  sentence: string;
  state: string;
  task: string | null;
  waits_for?: string[];
  /** The consequence of moving the task to another device. */
  warning?: string;
  word?: string;
}

export interface Routes {
  delete: {
    "/constellations/{constellation}/draft": { path: { constellation: string; }; answer: Closed };
    "/lab/faults/{fault}": { path: { fault: string; }; answer: FaultRow };
    "/lab/scenarios/{scenario}/runs/{run}": { path: { scenario: string; run: string; }; answer: RunRow };
    "/model": { answer: ModelState };
    "/model/roles/{role}": { path: { role: ModelRole; }; answer: ModelState };
    "/recipe-proposals/{proposal}": { path: { proposal: string; }; answer: null };
    "/recipes/{name}": { path: { name: string; }; query?: { anyway?: boolean; }; answer: null };
    "/schedules/{schedule}": { path: { schedule: string; }; answer: RemovedSchedule };
    "/secrets/{name}": { path: { name: string; }; answer: null };
    "/standing-approvals/{standing}": { path: { standing: string; }; answer: Revoked };
    "/tokens/{token}": { path: { token: string; }; answer: RevokedToken };
  };
  get: {
    "/approvals": {
      query?: { state?: "open" | "answered"; };
      answer: { items: NamedQuestionRow[]; next: string | null; };
    };
    "/artifacts/{sha256}": { path: { sha256: string; }; answer: null };
    "/audit": {
      query?: { person?: string; device?: string; kind?: Category | null; constellation?: string; q?: string; cursor?: string | null; limit?: number; };
      answer: { items: ActivityRow[]; next: string | null; };
    };
    "/audit/verify": { query?: { anchor?: string[] | null; }; answer: ChainCheck };
    "/brief": { query?: { request?: string; }; answer: BriefText };
    "/constellations": {
      query?: { state?: ConstellationState | null; q?: string | null; device?: string | null; of?: string | null; cursor?: string | null; limit?: number; tries?: boolean; };
      answer: { items: ConstellationRow[]; next: string | null; };
    };
    "/constellations/{constellation}/blame": {
      path: { constellation: string; };
      query?: { task?: string | null; };
      answer: { items: BlameRow[]; next: string | null; };
    };
    "/constellations/{constellation}/events": {
      path: { constellation: string; };
      query?: { after?: number; wait_s?: number; limit?: number; until?: "final" | null; };
      answer: EventPage;
    };
    "/constellations/{constellation}/report": {
      path: { constellation: string; };
      query?: { spans?: boolean; };
      answer: RunReport;
    };
    "/constellations/{constellation}/tasks/{task}/attempts/{attempt}/log": {
      path: { constellation: string; task: string; attempt: number; };
      query?: { offset?: number | null; tail?: number; q?: string | null; };
      answer: Output;
    };
    "/constellations/{constellation}/what-if": {
      path: { constellation: string; };
      query?: { tasks?: boolean; };
      answer: RunWhatIf;
    };
    "/constellations/{constellation}/why": {
      path: { constellation: string; };
      query?: { task_id?: string | null; };
      answer: WhyAll | WhyRow;
    };
    "/device-work": {
      query: { since_ms: number; device?: string[] | null; };
      answer: { items: DeviceWork[]; next: string | null; };
    };
    "/devices/{device}": { path: { device: string; }; answer: DeviceDetail };
    "/disk": { answer: HubDisk };
    "/enrollments/{enrollment}": { path: { enrollment: string; }; answer: EnrollmentDetail };
    "/lab/faults": { answer: Faults };
    "/lab/faults/{fault}": { path: { fault: string; }; answer: FaultWhole };
    "/lab/scenarios": { answer: { items: ScenarioRow[]; next: string | null; } };
    "/lab/scenarios/{scenario}/runs/{run}": { path: { scenario: string; run: string; }; answer: RunRow };
    "/lan": { answer: LanRow };
    "/model": { answer: ModelState };
    "/people": { answer: { items: RoleRow[]; next: string | null; } };
    "/recipe-proposals": { answer: ProposalList };
    "/recipes": { answer: { items: RecipeRow[]; next: string | null; } };
    "/recipes/{name}": { path: { name: string; }; query?: { version?: number | null; }; answer: RecipeWhole };
    "/recipes/{name}/runs": { path: { name: string; }; query?: { limit?: number; }; answer: RecipeTrend };
    "/recipes/{name}/versions": {
      path: { name: string; };
      answer: { items: RecipeVersionRow[]; next: string | null; };
    };
    "/schedule-runs/{schedule}": { path: { schedule: string; }; query?: { limit?: number; }; answer: ScheduleTrend };
    "/schedules": { answer: { items: ScheduleRow[]; next: string | null; } };
    "/secrets": { answer: { items: SecretRow[]; next: string | null; } };
    "/session": { answer: SessionRow };
    "/tokens": { answer: { items: TokenRow[]; next: string | null; } };
    "/vitals": { query?: { device?: string[] | null; }; answer: Vitals };
  };
  patch: {
    "/devices/{device}": { path: { device: string; }; body: PatchDevice; answer: DeviceRow };
    "/people/{name}": { path: { name: string; }; body: NewRole; answer: RoleRow };
    "/schedules/{schedule}": { path: { schedule: string; }; body: PatchSchedule; answer: ScheduleRow };
  };
  post: {
    "/approvals/{approval}/answer": { path: { approval: string; }; body: Answered; answer: GivenAnswer };
    "/approvals/{approval}/approve": { path: { approval: string; }; body?: Approved | null; answer: GivenAnswer };
    "/approvals/{approval}/deny": { path: { approval: string; }; body?: Reasoned | null; answer: GivenAnswer };
    "/asks/{ask}/approve": { path: { ask: string; }; body?: Judged | null; answer: AskRow };
    "/asks/{ask}/deny": { path: { ask: string; }; body?: Judged | null; answer: AskRow };
    "/brief": { body: AnswerOf; answer: PastedPlan };
    "/constellations": { query?: { wait_s?: number; }; body: Create; answer: Created };
    "/constellations/preview": { body: Preview; answer: RequestPreview };
    "/constellations/{constellation}/cancel": {
      path: { constellation: string; };
      body?: Reasoned | null;
      answer: Controlled;
    };
    "/constellations/{constellation}/edits": { path: { constellation: string; }; body: Edit; answer: Edited };
    "/constellations/{constellation}/fork": { path: { constellation: string; }; body: Fork; answer: Forked };
    "/constellations/{constellation}/pause": {
      path: { constellation: string; };
      body?: Reasoned | null;
      answer: Controlled;
    };
    "/constellations/{constellation}/resume": {
      path: { constellation: string; };
      body?: Reasoned | null;
      answer: Controlled;
    };
    "/constellations/{constellation}/tasks/{task}/{action}": {
      path: { constellation: string; task: string; action: "retry" | "retry-from" | "skip" | "mark" | "cancel" | "hold" | "release" | "hint"; };
      body?: Control | null;
      answer: Controlled;
    };
    "/constellations/{constellation}/undo": { path: { constellation: string; }; body: UndoWork; answer: Undone };
    "/constellations/{constellation}/what-if": {
      path: { constellation: string; };
      body: AskedOfRun;
      answer: RunWhatIf;
    };
    "/devices/{device}/{action}": {
      path: { device: string; action: "drain" | "resume" | "reserve" | "share" | "revoke" | "forget" | "seen"; };
      body?: DeviceControl | null;
      answer: DeviceRow;
    };
    "/enrollments": { body: Enroll; answer: NewEnrollment };
    "/enrollments/{enrollment}/approve": {
      path: { enrollment: string; };
      body?: Reasoned | null;
      answer: EnrollmentRow;
    };
    "/enrollments/{enrollment}/deny": { path: { enrollment: string; }; body?: Reasoned | null; answer: EnrollmentRow };
    "/lab/faults": { body: NewFault; answer: FaultRow };
    "/lab/scenarios/{scenario}/runs": { path: { scenario: string; }; body?: NewRun | null; answer: RunRow };
    "/lan/close": { answer: LanRow };
    "/lan/open": { answer: LanRow };
    "/live/tickets": { answer: LiveTicket };
    "/model/test": { body?: TriedModel | null; answer: ModelReply };
    "/prompt-preview": { body: AskedPrompt; answer: FirstPrompt };
    "/recipes": { body: Saved; answer: RecipeChecked };
    "/recipes/check": { body: Checked; answer: RecipeTried };
    "/recipes/{name}/seen": { path: { name: string; }; answer: RecipeNamed };
    "/schedule-notices/seen": { body: SeenNotices; answer: { items: ScheduleRow[]; next: string | null; } };
    "/schedule-preview": { body: ClockAsked; answer: SchedulePreview };
    "/schedules": { body: NewSchedule; answer: ScheduleRow };
    "/schedules/{schedule}/{action}": {
      path: { schedule: string; action: "pause" | "resume" | "run"; };
      body?: Reasoned | null;
      answer: ScheduleRow;
    };
    "/sign-in": { body: SignInBody; answer: SignedIn };
    "/sign-in-links": { body?: NewLink | null; answer: SignInLink };
    "/sign-in/terms": { body: SignInBody; answer: LinkTerms };
    "/sign-out": { answer: SignedOut };
    "/stop-all": { body?: Reasoned | null; answer: Stopped };
    "/tokens": { body: NewToken; answer: IssuedToken };
    "/what-if": { body: AskedWhatIf; answer: WhatIf };
  };
  put: {
    "/constellations/{constellation}/draft": { path: { constellation: string; }; body: DraftOf; answer: DraftRow };
    "/model": { body: SetModel; answer: ModelState };
    "/model/roles/{role}": { path: { role: ModelRole; }; body: SetRole; answer: ModelState };
    "/secrets/{name}": { path: { name: string; }; body: NewValue; answer: SetSecret };
  };
}
