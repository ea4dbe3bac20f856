/** The document as text, YAML or JSON. What can be read is taken at once; what cannot says where and changes nothing. */
import { useEffect, useRef, useState } from "react";
import type { Draft } from "../../model/rows/document.ts";
import { documentOf, same } from "../../model/rows/document.ts";
import { draftOfText, textOfDraft } from "../../model/rows/text.ts";
import { Button, Tabs } from "../../ui/parts.tsx";

type Form = "yaml" | "json";

interface TextLensProps {
  draft: Draft;
  locked: boolean;
  onChange: (draft: Draft, about: string) => void;
}

export function TextLens({ draft, locked, onChange }: TextLensProps) {
  const [form, setForm] = useState<Form>("yaml");
  const [text, setText] = useState(() => textOfDraft(draft, form));
  const [fault, setFault] = useState<{ reason: string; line: number } | null>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  // An undo, or a change made elsewhere, is another document than the one that this text means.
  useEffect(() => {
    setText((held) => {
      const read = draftOfText(held);
      return read.draft && same(documentOf(read.draft), documentOf(draft)) ? held : textOfDraft(draft, form);
    });
    setFault(null);
  }, [draft, form]);
  const take = (typed: string) => {
    setText(typed);
    const read = draftOfText(typed);
    setFault(read.fault);
    if (read.draft) onChange(read.draft, "text");
  };
  return (
    <div className="textlens">
      <div className="row wrap">
        <Tabs<Form>
          look="seg"
          label="Form of the text"
          value={form}
          onChange={(next) => {
            setForm(next);
            setText(textOfDraft(draft, next));
          }}
          choices={[
            { value: "yaml", label: "YAML" },
            { value: "json", label: "JSON" },
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
        onChange={(event) => take(event.target.value)}
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
