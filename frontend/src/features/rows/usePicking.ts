/** Picking what a row does: for a row that is there, or for a new one, which may use an output of an earlier row. */
import { useMemo, useState } from "react";
import type { ToolView } from "../../model/fleet/tools.ts";
import type { Fields } from "../../model/rows/document.ts";
import { added, patched, taking, withItem, withTool, withUse } from "../../model/rows/edit.ts";
import { type Branch, branches, type Sample, suitable } from "../../model/rows/sample.ts";
import { type Field, formOf, isAside } from "../../model/rows/schema.ts";
import type { Drafting } from "./useDraft.ts";

interface Use {
  from: string;
  output: string;
  /** The part of each item of the list at `output`, where the new row runs for each; null takes the output itself. */
  inner: string | null;
}

interface PickingProps {
  drafting: Drafting;
  tools: ReadonlyMap<string, ToolView>;
  samples: ReadonlyMap<string, Sample>;
  /** A new row was made. */
  onAdded: (id: string) => void;
}

export function usePicking({ drafting: { draft, change }, tools, samples, onAdded }: PickingProps) {
  const [picking, setPicking] = useState<{ row: string | null; use: Use | null } | null>(null);
  const formFor = (tool: string) => formOf(tools.get(tool)?.schema ?? "{}");
  const pick = (what: { tool: string } | { person: string }) => {
    const target = picking?.row ?? null;
    if (target !== null) {
      change((held) => ({
        ...held,
        plan: patched(held.plan, target, (task) =>
          "tool" in what
            ? withTool(task, what.tool, formFor(what.tool))
            : { id: task.id ?? target, person: what.person },
        ),
      }));
    } else {
      const made = added(draft.plan, what);
      const use = picking?.use;
      const field = use && "tool" in what ? fieldFor(formFor(what.tool).fields, samples.get(use.from), use) : null;
      const plan = use && field ? taking(made.plan, made.id, (task) => withSource(task, field, use)) : made.plan;
      change({ ...draft, plan });
      onAdded(made.id);
    }
    setPicking(null);
  };
  const takes = useMemo(() => {
    const use = picking?.use;
    const given = use ? samples.get(use.from) : undefined;
    return use ? (tool: ToolView) => fieldFor(formOf(tool.schema).fields, given, use) !== null : undefined;
  }, [picking, samples]);
  return {
    picking,
    pick,
    /** Which tools take the output that is used; none is asked for without one. */
    takes,
    close: () => setPicking(null),
    forRow: (row: string) => setPicking({ row, use: null }),
    forNew: (use: Use | null = null) => setPicking({ row: null, use }),
  };
}

const withSource = (task: Fields, { name, kind }: Field, { from, output, inner }: Use): Fields =>
  inner === null
    ? withUse(task, name, { from, output })
    : withItem(task, name, { from, list: output, inner, alone: kind === "words" });

/** Fields that take a value of another name. */
const LIKE: { [name: string]: readonly string[] } = { path: ["paths", "root", "under", "folder"], name: ["names"] };

/** The field of a form that a value suits best: one that must be filled in before one that may. */
export function fieldFor(fields: readonly Field[], sample: Sample | undefined, { output, inner }: Use): Field | null {
  const meant = (one: Branch) =>
    inner === null ? one.pointer === output : one.item?.list === output && one.item.inner === inner;
  const branch = sample ? branches(sample.value).filter(meant) : [];
  const whole = branch.map((one) => ({ ...one, pointer: one.pointer || "/", inItem: false }));
  // A list of texts takes the text of an item as the one in it.
  const kindOf = (field: Field) => (inner !== null && field.kind === "words" ? { ...field, kind: "text" } : field);
  const suits = fields.filter((field) => !isAside(field) && suitable(whole, kindOf(field)).length > 0);
  const named = (names: readonly string[]) => suits.find((field) => names.includes(field.name));
  const names = whole.map((one) => one.name);
  const like = names.flatMap((name) => (Object.hasOwn(LIKE, name) ? (LIKE[name] ?? []) : []));
  return named(names) ?? named(like) ?? suits.find((field) => field.required) ?? suits[0] ?? null;
}
