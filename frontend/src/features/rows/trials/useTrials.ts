/** Trying rows: one at a time, on a real device, hidden among constellations; what came out is kept as the sample. */
import { useCallback, useMemo, useRef, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import { Problem } from "../../../link/rest.ts";
import { able, type ToolView } from "../../../model/fleet/tools.ts";
import { type Draft, type Fields, type Json, taskOf } from "../../../model/rows/document.ts";
import { rowsOf } from "../../../model/rows/row.ts";
import type { Sample } from "../../../model/rows/sample.ts";
import { TRY_LABEL, type Trial, trialOf } from "../../../model/rows/trials/trial.ts";
import { fits } from "../../../model/rows/where.ts";
import { parseExact } from "../../../model/words/exact.ts";
import { asExample, keepSample, keptSample } from "./memory.ts";
import { useExamples } from "./useExamples.ts";

const WAIT_S = 30;

interface Trials {
  /**
   * The last output of each row: its own, else the tool's last one as an example, else an example made from the schema
   * of its result.
   */
  samples: ReadonlyMap<string, Sample>;
  /** Rows that were tried here, as what they are now. */
  tried: ReadonlySet<string>;
  trying: string | null;
  /** Why the last try failed, by row. */
  failed: { id: string; problem: Problem } | null;
  whyNot: (id: string) => string;
  run: (id: string) => void;
}

/** `values` are those of the draft's parameters. */
export function useTrials(draft: Draft, tools: ReadonlyMap<string, ToolView>, values: Fields): Trials {
  const { hub, now } = useTimed();
  const [own, setOwn] = useState<ReadonlyMap<string, { tool: string; call: string; sample: Sample }>>(new Map());
  const [trying, setTrying] = useState<string | null>(null);
  const [failed, setFailed] = useState<Trials["failed"]>(null);
  const busy = useRef(false);
  const rows = useMemo(() => rowsOf(draft.plan), [draft.plan]);
  const examples = useExamples(
    rows.filter((row) => row.kind === "tool").map((row) => row.what),
    tools,
  );
  const samples = useMemo(() => {
    const all = new Map<string, Sample>();
    for (const row of rows) {
      const held = own.get(row.id);
      const example = examples.get(row.what);
      const call = callOf(draft.plan, row.id);
      const ours = held?.tool === row.what ? (held.call === call ? held.sample : asExample(held.sample)) : null;
      const sample =
        ours ?? keptSample(row.what, call) ?? (example === undefined ? null : { value: example, device: "", atMs: 0 });
      if (sample) all.set(row.id, sample);
    }
    return all;
  }, [draft.plan, rows, own, examples]);

  const trial = useCallback(
    (id: string): Trial => {
      const row = rows.find((one) => one.id === id);
      const tool = row ? tools.get(row.what) : undefined;
      const where = row?.where;
      const any = tool && able(tool).find((one) => where?.kind !== "every" || fits(where.of, one));
      // An example says what fields there are; its values exist on no device, so nothing may be tried with them.
      const real = new Map([...samples].filter(([, sample]) => sample.device));
      return trialOf(draft.plan, id, {
        effects: tool ? tool.effects : null,
        samples: real,
        params: values,
        anyDevice: any ? { id: any.id, name: any.name } : null,
      });
    },
    [draft, rows, tools, samples, values],
  );

  const run = async (id: string) => {
    const { plan } = trial(id);
    const tool = rows.find((row) => row.id === id)?.what ?? "";
    const call = callOf(draft.plan, id);
    if (!plan || busy.current) return;
    busy.current = true;
    setTrying(id);
    setFailed(null);
    try {
      const made = await hub.submitAndWait({ plan, labels: { [TRY_LABEL]: "row" } }, WAIT_S);
      const item = made.answer?.items[0];
      if (!made.answer || made.state !== "succeeded" || !item) throw notDone(made.id, made.answer?.sentence);
      const value = item.artifact ? (parseExact(await hub.artifactText(item.artifact)) as Json) : (item.value as Json);
      const sample = { value, device: item.from.device_name ?? "a device", atMs: now() };
      keepSample(tool, call, sample);
      setOwn((held) => new Map(held).set(id, { tool, call, sample }));
    } catch (error) {
      setFailed({ id, problem: asProblem(error) });
    } finally {
      busy.current = false;
      setTrying(null);
    }
  };
  const tried = useMemo(
    () => new Set(rows.filter((row) => own.get(row.id)?.tool === row.what).map((row) => row.id)),
    [rows, own],
  );
  return { samples, tried, trying, failed, whyNot: (id) => trial(id).why, run: (id) => void run(id) };
}

function useTimed() {
  const workspace = useWorkspace();
  return { hub: workspace.hub, now: () => workspace.now() };
}

/** The call of a row as text: its output is real for this call alone. */
const callOf = (plan: Fields, id: string): string => JSON.stringify(taskOf(plan, id) ?? null);

const notDone = (id: string, sentence: string | undefined) =>
  new Problem(200, {
    code: sentence ? "tool_failed" : "deadline_passed",
    reason: sentence ?? `The row still runs after ${WAIT_S} s.`,
    hint: `See constellation ${id} for what it did.`,
  });
