/**
 * From the entities of a constellation back to the document that makes them: for *Save as recipe* and for editing what
 * runs. Children of groups and gates that inputs imply are not written: the plan makes them again.
 */
import type { StreamModel } from "../../stream/stream.ts";
import type {
  Check,
  Dependency,
  Head,
  Judge,
  RuleRecord,
  Selector,
  SentenceSpec,
  TaskSpec,
  Version,
} from "../../types.ts";
import { parseKept } from "../../words/exact.ts";
import { type Fields, isFields, type Json, trimmed } from "../document.ts";

const WEEK_S = 7 * 24 * 3600;
const MONTH_S = 30 * 24 * 3600;

type Condition = { op: string; output: string; value?: string | null };

/** Throws LostDigits for a number whose digits would be others in the document. */
const parsed = (text: string): Json => parseKept(text) as Json;

function selectorDoc(selector: Selector): Fields {
  return trimmed({
    name: selector.name ?? undefined,
    id: selector.id ?? undefined,
    labels: selector.labels,
    os: selector.os ?? undefined,
    tools: selector.tools,
    any: selector.any?.map(selectorDoc),
  });
}

function conditionDoc(one: Condition): Fields {
  return { output: one.output, op: one.op, ...(one.value == null ? {} : { value: parsed(one.value) }) };
}

function forEachDoc(each: NonNullable<TaskSpec["for_each"]>): Fields {
  const need =
    each.need === "at_least" ? { at_least: each.need_count ?? 1 } : each.need === "all" ? undefined : each.need;
  const made = trimmed({
    from: each.source ?? undefined,
    output: each.output || undefined,
    flatten: each.flatten || undefined,
    same: each.same ?? undefined,
    times: each.times || undefined,
    max_parallel: each.max_parallel || undefined,
    need: need as Json | undefined,
    in_turn: each.in_turn || undefined,
    when_off: each.when_off === "report" ? "report" : undefined,
    after_s: each.when_off === "report" ? (each.after_s ?? 0) : undefined,
  });
  // A selector may be empty: every device that can.
  return each.devices ? { devices: selectorDoc(each.devices), ...made } : made;
}

/** Whether a list is the one device that a result names. */
function byResult(each: NonNullable<TaskSpec["for_each"]>): boolean {
  return each.source != null && each.devices != null;
}

/** The turns of a repeated call, as they are written. */
function repeatDoc(each: TaskSpec["for_each"]): Fields | undefined {
  const repeat = each?.repeat;
  if (!repeat) return undefined;
  const condition = repeat.until ? conditionDoc(repeat.until) : undefined;
  return trimmed({
    max: repeat.most,
    every_s: repeat.every_s || undefined,
    until: repeat.during ? undefined : condition,
    while: repeat.during ? condition : undefined,
    in_a_row: (repeat.in_a_row ?? 1) > 1 ? repeat.in_a_row : undefined,
    carry: { ...repeat.carry },
  });
}

/** The earlier result that a task takes over. */
function findsDoc({ finds, goal }: TaskSpec): Fields | undefined {
  if (goal?.finds?.length) return { topics: goal.finds };
  return finds ? { topic: finds.topic, ...(finds.output ? { value: finds.output } : {}) } : undefined;
}

function reuseDoc(reuse: TaskSpec["reuse"]): Fields | undefined {
  if (!reuse) return undefined;
  const key = reuse.key ? (parsed(reuse.key) as { key: Json }).key : undefined;
  return { fresh_s: reuse.fresh_s, ...(key === undefined ? {} : { key }) };
}

/** The time before which a task does not begin; the bound that is the default is left out. */
function momentDoc(moment: TaskSpec["not_before"]): Fields | undefined {
  if (!moment) return undefined;
  return trimmed({
    at: moment.at || undefined,
    from: moment.source || undefined,
    output: moment.output || undefined,
    zone: moment.zone || undefined,
    within_s: moment.within_s === (moment.at ? MONTH_S : WEEK_S) ? undefined : moment.within_s,
    past: moment.past === "fail" ? "fail" : undefined,
  });
}

/** The rule that ends a hopeless task; `progress` points at the one field that it reads. */
function stopDoc(stop: TaskSpec["stop_when"]): Fields | undefined {
  if (!stop) return undefined;
  const { output: _, ...asked } = stop.condition ? conditionDoc(stop.condition) : {};
  const made = trimmed({
    worse_than_best_by: stop.worse_by == null ? undefined : parsed(stop.worse_by),
    best: stop.best === "high" ? "high" : undefined,
    after: trimmed({ n: stop.after_n || undefined, s: stop.after_s || undefined }),
  });
  return { progress: `/${stop.name.replaceAll("~", "~0").replaceAll("/", "~1")}`, ...asked, ...made };
}

function deviceDoc({ device, for_each: each }: TaskSpec): Fields | undefined {
  if (!each?.devices || !byResult(each)) return device ? selectorDoc(device) : undefined;
  return {
    from: each.source ?? "",
    ...(each.output ? { output: each.output } : {}),
    within: selectorDoc(each.devices),
  };
}

/** One task as it would be written; what is the default is left out. */
export function taskDoc(spec: TaskSpec): Fields {
  const args = spec.args ? parsed(spec.args) : {};
  const inputs = Object.fromEntries(
    (spec.inputs ?? []).map((input) => [
      input.name,
      trimmed({
        from: input.source || undefined,
        finding: input.topic || undefined,
        fresh_s: input.fresh_s || undefined,
        else: input.otherwise === undefined || input.otherwise === null ? undefined : parsed(input.otherwise),
        output: input.output || undefined,
        optional: input.optional || undefined,
        flatten: input.flatten || undefined,
        all: input.all || undefined,
        off: input.off || undefined,
        who: input.who || undefined,
      }),
    ]),
  );
  const timeouts = spec.timeouts ?? {};
  const retry = spec.retry ?? {};
  const absence = spec.on_absence ?? {};
  const made = trimmed({
    id: spec.id,
    for_each:
      spec.for_each && !byResult(spec.for_each) && !spec.for_each.repeat ? forEachDoc(spec.for_each) : undefined,
    repeat: repeatDoc(spec.for_each),
    tool: spec.tool ?? undefined,
    person: spec.person ?? undefined,
    ask: spec.ask?.length ? spec.ask : undefined,
    choices: spec.choices?.map((one) => trimmed({ value: one.value, label: one.label, fails: one.fails || undefined })),
    shows: spec.shows ? trimmed({ from: spec.shows.source, output: spec.shows.output || undefined }) : undefined,
    device: deviceDoc(spec),
    repeatability: spec.repeatability ?? undefined,
    inputs,
    args: isFields(args) ? args : {},
    files_out: spec.files_out?.map((one) => ({ output: one.output, to: one.to })),
    timeouts: trimmed({ ...timeouts }),
    retry: trimmed({
      max_attempts: retry.max_attempts || undefined,
      on_check: retry.on_check || undefined,
      on_exit: retry.on_exit || undefined,
    }),
    on_absence: absence.then ? trimmed({ ...absence, after_s: absence.after_s || undefined }) : undefined,
    not_before: momentDoc(spec.not_before),
    reuse: reuseDoc(spec.reuse),
    finds: findsDoc(spec),
    stop_when: stopDoc(spec.stop_when),
    optional: spec.optional || undefined,
    any_of: spec.any_of?.map((call) => callDoc(call, call.device ? { device: selectorDoc(call.device) } : {})),
    undo: spec.undo ? callDoc(spec.undo, { outputs: { ...spec.undo.outputs } }) : undefined,
    verify: spec.verify ? callDoc(spec.verify, { expect: spec.verify.expect.map(checkDoc) }) : undefined,
    judge: judgeDoc(spec.judge),
    checks: spec.checks?.map(checkDoc),
  });
  return made;
}

/** The question to a judge, in its short form where a person decides what stays unclear. */
function judgeDoc(judge: Judge | null | undefined): Json | undefined {
  if (!judge) return undefined;
  return judge.unclear && judge.unclear !== "ask"
    ? { question: judge.question, unclear: judge.unclear }
    : judge.question;
}

/** A call that belongs to a task: instead of its own, how it is undone, or how it is seen whether it happened. */
function callDoc(call: { args?: string; tool: string }, more: Fields): Fields {
  const args = parsed(call.args ?? "{}");
  return trimmed({ tool: call.tool, args: isFields(args) ? args : {}, ...more });
}

function checkDoc(one: Check): Fields {
  if (one.output === "/exit_code" && one.op === "eq" && one.value != null) return { exit_code: parsed(one.value) };
  return { ...conditionDoc(one), ...(one.says ? { says: one.says } : {}) };
}

function gateDoc(dependency: Dependency): Fields {
  const when: Json = dependency.condition ? conditionDoc(dependency.condition) : dependency.gate;
  return { from: dependency.source, to: dependency.target, when, ...(dependency.all ? { all: true } : {}) };
}

function operationDoc(operation: Fields): Fields {
  const { op, ...body } = operation as { op: string } & Fields;
  switch (op) {
    case "add_task":
      return { add_task: taskDoc(body.spec as unknown as TaskSpec) };
    case "add_dependency":
      return { add_dependency: gateDoc(body.dependency as unknown as Dependency) };
    case "reassign":
      return { reassign: { id: body.id ?? "", device: selectorDoc(body.device as unknown as Selector) } };
    case "add_items":
      return { add_items: { to: body.to ?? "", items: parsed(String(body.items)) } };
    case "drop_items":
      return { drop_items: { of: body.of ?? "", keys: parsed(String(body.keys)) } };
    default:
      return { [op]: body };
  }
}

function ruleDoc(rule: RuleRecord): Fields {
  const condition = rule.condition ? conditionDoc(rule.condition) : {};
  const attempts = rule.attempts ? { op: rule.attempts.op, value: parsed(rule.attempts.value ?? "0") } : undefined;
  const failed = rule.failed ? { op: rule.failed.op, value: parsed(rule.failed.value ?? "0") } : undefined;
  const operations = parsed(rule.operations);
  return {
    name: rule.name,
    when: trimmed({
      task: rule.task,
      event: rule.event,
      ...condition,
      attempts,
      failed,
      code: rule.code ?? undefined,
      whole: rule.whole || undefined,
    }),
    edit: Array.isArray(operations) ? operations.filter(isFields).map(operationDoc) : [],
    reason: rule.reason,
  };
}

function sentenceDoc(one: SentenceSpec): Fields {
  const values = Object.entries(one.values ?? {}).map(([name, value]) => [
    name,
    trimmed({
      from: value.source,
      output: value.output || undefined,
      show: value.show ?? undefined,
      noun: value.noun || undefined,
    }),
  ]);
  const when = one.condition ? { from: one.source ?? "", ...conditionDoc(one.condition) } : undefined;
  return trimmed({ text: one.text, alarm: one.alarm || undefined, values: Object.fromEntries(values) as Fields, when });
}

interface PlanEntities {
  head: Head;
  specs: Iterable<TaskSpec>;
  dependencies: Iterable<Dependency>;
  rules: Iterable<RuleRecord>;
  versions: Iterable<Version>;
}

/** In the order in which versions added them: keys of entities are sorted, and say nothing. */
function inOrder(specs: TaskSpec[], versions: Iterable<Version>): TaskSpec[] {
  const place = new Map<string, number>();
  for (const version of [...versions].sort((a, b) => a.number - b.number))
    for (const id of version.added ?? []) if (!place.has(id)) place.set(id, place.size);
  return specs.sort((a, b) => (place.get(a.id) ?? place.size) - (place.get(b.id) ?? place.size));
}

/** The plan document of these entities. Parameters were put in when the plan was made: their values stand in it. */
export function planOf({ head, specs, dependencies, rules, versions }: PlanEntities): Fields {
  const own = inOrder(
    // Undos and looks for an effect are the hub's: run again with the plan, an undo would take away what the plan made.
    [...specs].filter((spec) => !spec.group && !spec.undoes && !spec.verifies),
    versions,
  );
  const ids = new Set(own.map((spec) => spec.id));
  const gates = [...dependencies].filter((one) => one.gate !== "data" && ids.has(one.source) && ids.has(one.target));
  const policy = head.policy ?? {};
  return trimmed({
    starloom: 1,
    name: head.name,
    tasks: own.map(taskDoc),
    dependencies: gates.map(gateDoc),
    rules: [...rules].sort((a, b) => a.order - b.order).map(ruleDoc),
    policy: trimmed({
      approval: policy.approval && policy.approval !== "risky" ? policy.approval : undefined,
      drop_optional_below: policy.drop_below ? policy.drop_below / 100 : undefined,
      on_failure: policy.on_failure && policy.on_failure !== "fail" ? policy.on_failure : undefined,
      partial: policy.partial || undefined,
      priority: policy.priority && policy.priority !== "normal" ? policy.priority : undefined,
      review: policy.review && policy.review !== "never" ? policy.review : undefined,
      review_at: policy.review_at?.length ? [...policy.review_at] : undefined,
    }),
    judge: judgeDoc(policy.judge),
    result: (head.results ?? []).map((one) => ({
      ...trimmed({ title: one.title, from: one.source, output: one.output || undefined, show: one.show ?? undefined }),
      // An empty list compares the whole value.
      ...(one.compare ? { compare: [...one.compare] } : {}),
    })),
    sentence: (head.sentences ?? []).map(sentenceDoc),
  });
}

/** The plan document of a stream as it stands. */
export function planOfStream(model: Pick<StreamModel, "kind">, head: Head): Fields {
  return planOf({
    head,
    specs: model.kind<TaskSpec>("spec").values(),
    dependencies: model.kind<Dependency>("dep").values(),
    rules: model.kind<RuleRecord>("rule").values(),
    versions: model.kind<Version>("version").values(),
  });
}
