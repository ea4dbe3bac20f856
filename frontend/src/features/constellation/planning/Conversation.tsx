/** The calls of a model for a constellation: each with its cost, and on demand the very texts that went and came. */
import { useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { ModelCall } from "../../../model/types.ts";
import { duration, money, plural, timeOfDay } from "../../../model/words/words.ts";
import { Icon } from "../../../ui/Icon.tsx";
import { Empty, ProblemNote } from "../../../ui/parts.tsx";

const STAGES: Record<string, string> = {
  planning: "Asked for a plan",
  reviewing: "Asked to review what ended",
  answering: "Asked for the answer in words",
  judging: "Asked to judge a result",
  working: "Asked for the next turn of a goal",
  tiered: "Asked for the next turn of a goal",
};
/** So much of a text is read; a prompt is bounded below that. */
const TEXT_BYTES_MAX = 512 * 1024;

export const callsOf = (model: StreamModel): ModelCall[] =>
  [...model.kind<ModelCall>("call").values()].sort(
    (a, b) => a.asked_ms - b.asked_ms || a.job.localeCompare(b.job) || (a.number ?? 0) - (b.number ?? 0),
  );

export function Conversation({ model }: { model: StreamModel }) {
  const calls = callsOf(model);
  if (calls.length === 0) return <Empty title="No model was asked anything for this constellation." />;
  const tokens = calls.reduce((sum, call) => sum + (call.input_tokens ?? 0) + (call.output_tokens ?? 0), 0);
  const micros = calls.reduce((sum, call) => sum + (call.micros ?? 0), 0);
  return (
    <section className="conversation" aria-label="Conversation with the model">
      <p className="small dim">
        {plural(calls.length, "call")} of a model, {tokens.toLocaleString("en")} tokens{money(micros)}. These are the
        exact texts; nothing else left this machine for it.
      </p>
      <ol>
        {calls.map((call) => (
          <li key={`${call.job}/${call.number}`} className="card">
            <Call call={call} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Call({ call }: { call: ModelCall }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="row callhead" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} />
        <b>{STAGES[call.stage] ?? call.stage}</b>
        <span className="dim small end">
          {call.model || "a model"}
          {call.tier ? ` (tier ${call.tier})` : ""}, {(call.input_tokens ?? 0).toLocaleString("en")} tokens in
          {call.cached_tokens ? ` (${call.cached_tokens.toLocaleString("en")} kept by the endpoint)` : ""},{" "}
          {(call.output_tokens ?? 0).toLocaleString("en")} out{money(call.micros ?? 0)}, {duration(call.took_ms ?? 0)},{" "}
          {timeOfDay(call.asked_ms).slice(0, 8)}
        </span>
      </button>
      {call.fault && <p className="small">No reply: {call.fault}</p>}
      {open && <Text title="What it was told" sha256={call.prompt ?? null} read={told} />}
      {open && !call.fault && <Text title="What it said" sha256={call.reply ?? null} read={said} />}
    </>
  );
}

function Text({ title, sha256, read }: { title: string; sha256: string | null; read: (text: string) => string }) {
  const { hub } = useWorkspace();
  const found = useResource(sha256, (signal) => hub.artifactStart(sha256 ?? "", TEXT_BYTES_MAX, signal));
  const gone = found.problem?.code === "not_found";
  return (
    <section aria-label={title}>
      <h2 className="small strong dim">{title}</h2>
      {found.problem && !gone && <ProblemNote problem={found.problem} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must be able to. */}
      <pre className="mono small" tabIndex={0}>
        {sha256 === null
          ? "This text was not kept."
          : gone
            ? "This text is no longer kept; it went as old logs do."
            : found.value
              ? read(found.value.text)
              : "Reading."}
      </pre>
    </section>
  );
}

/** The instructions and the turns of a prompt as one text. */
function told(text: string): string {
  try {
    const { instructions, turns } = JSON.parse(text) as { instructions: string; turns: { by: string; text: string }[] };
    return [instructions, ...turns.map((turn) => `--- ${turn.by}\n${turn.text}`)].join("\n\n");
  } catch {
    return text;
  }
}

function said(text: string): string {
  try {
    const reply = (JSON.parse(text) as { text: string }).text;
    return JSON.stringify(JSON.parse(reply), null, 2);
  } catch {
    return text;
  }
}
