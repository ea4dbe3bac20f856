/** Rows for a list that runs: one a line, added by one edit, which is refused whole or applied. */
import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useKeptText } from "../../../app/workspace/drafts.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { GroupRecord, Head, TaskSpec } from "../../../model/types.ts";
import { LostDigits, parseKept } from "../../../model/words/exact.ts";
import { FINAL, plural } from "../../../model/words/words.ts";
import { Button } from "../../../ui/parts.tsx";

interface Props {
  head: Head;
  spec: TaskSpec;
  record: GroupRecord | undefined;
}

/** The rows of a text: a JSON list, or a JSON value a line; else the reason why it is neither. */
export function rowsOf(text: string): unknown[] | string {
  try {
    const whole: unknown = text.trim().startsWith("[") ? parseKept(text) : null;
    if (Array.isArray(whole)) return whole;
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return lines.map(parseKept);
  } catch (error) {
    return error instanceof LostDigits ? error.message : "Write each row as JSON in a line of its own.";
  }
}

export function AddRows({ head, spec, record }: Props) {
  const { hub } = useWorkspace();
  const { say, report } = useDoing();
  const [text, setText] = useKeptText(`${head.id}.${spec.id}.rows`);
  const [begun] = useState(text !== "");
  const [sending, setSending] = useState(false);
  // The answer was lost: the same rows over the same version are the same edit, which is made once.
  const [lost, setLost] = useState<{ text: string; version: number } | null>(null);
  const takesRows = spec.for_each?.source && !spec.for_each.devices && record?.state === "expanded";
  if (FINAL.has(head.state) || !takesRows) return null;
  const read = rowsOf(text);
  const rows = typeof read === "string" ? [] : read;
  const why = sending
    ? "They are being added."
    : typeof read === "string"
      ? read
      : rows.length === 0
        ? "Write at least one row."
        : null;
  const add = async () => {
    setSending(true);
    const version = lost?.text === text ? lost.version : (head.version ?? 0);
    try {
      const operation = { add_items: { to: spec.id, items: rows } };
      const made = await hub.edit(head.id, version, [operation], `more rows for ${spec.id}`);
      say(`${plural(rows.length, "row")} added: version ${made.version} is applied`);
      setText("");
      setLost(null);
    } catch (error) {
      setLost(asProblem(error).status < 500 ? null : { text, version });
      report(error);
    } finally {
      setSending(false);
    }
  };
  return (
    <details open={begun}>
      <summary className="small">Add rows to this list</summary>
      <label>
        <span className="small dim">One row a line, as JSON, such as {'{"rate": 0.1}'}</span>
        <textarea className="input mono" rows={4} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <Button asks="run" why={why} onClick={() => void add()}>
        {rows.length > 0 ? `Add ${plural(rows.length, "row")}` : "Add"}
      </Button>
    </details>
  );
}
