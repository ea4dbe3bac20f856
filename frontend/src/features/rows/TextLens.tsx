/** The document as text, YAML or JSON. What can be read is taken at once; what cannot says where and changes nothing. */
import { useMemo, useRef, useState } from "react";
import { textOfDraft } from "../../model/rows/text.ts";
import { Button, Tabs } from "../../ui/parts.tsx";
import type { Drafting } from "./useDraft.ts";

type Form = "yaml" | "json";

export function TextLens({ drafting, locked }: { drafting: Drafting; locked: boolean }) {
  const { draft, text: typed, type } = drafting;
  const [chosen, setChosen] = useState<Form>("yaml");
  const area = useRef<HTMLTextAreaElement>(null);
  const form = typed ? (typed.typed.trimStart().startsWith("{") ? "json" : "yaml") : chosen;
  const text = useMemo(() => typed?.typed ?? textOfDraft(draft, chosen), [typed, draft, chosen]);
  const fault = typed?.fault ?? null;
  const isUnavailable = (next: Form) => fault !== null && next !== form;
  return (
    <div className="textlens">
      <div className="row wrap">
        <Tabs<Form>
          look="seg"
          label="Form of the text"
          value={form}
          onChange={(next) => {
            setChosen(next);
            if (typed && next !== form) type(textOfDraft(draft, next));
          }}
          // A text that cannot be read has no other form.
          choices={[
            { value: "yaml", label: "YAML", hidden: isUnavailable("yaml") },
            { value: "json", label: "JSON", hidden: isUnavailable("json") },
          ]}
        />
        <span className="grow small dim">Paste a plan or a recipe here; rows and graph follow.</span>
      </div>
      <textarea
        ref={area}
        className="plantext mono"
        aria-label="Plan, as YAML or JSON"
        aria-invalid={fault !== null}
        rows={Math.min(36, Math.max(14, text.split("\n").length + 1))}
        spellCheck={false}
        readOnly={locked}
        value={text}
        onChange={(event) => type(event.target.value)}
      />
      {fault && (
        <p className="warning tone-vermilion" role="alert">
          Line {fault.line}: {fault.reason} The rows stay as they were.
          <Button onClick={() => goTo(area.current, fault.line)}>Go there</Button>
        </p>
      )}
    </div>
  );
}

function goTo(area: HTMLTextAreaElement | null, line: number): void {
  if (!area) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
}
