/** Import a recipe: pasted or from a file; every fault is told as one types, and importing runs nothing. */
import "../rows/rows.css";
import { useState } from "react";
import { useLocation } from "wouter";
import { isRefused } from "../../app/actions/transfers.ts";
import { useWorkspace } from "../../app/workspace/context.ts";
import { asProblem, useResource } from "../../app/workspace/resource.ts";
import { useSettled } from "../../app/workspace/settled.ts";
import type { Problem } from "../../link/rest.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Modal } from "../../ui/Modal.tsx";
import { Button, Labelled, ProblemNote } from "../../ui/parts.tsx";
import { Said } from "../../ui/Said.tsx";

const TYPING_MS = 300;

export default function ImportRecipe({ onClose }: { onClose: () => void }) {
  const { hub } = useWorkspace();
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const [refused, setRefused] = useState<Problem | null>(null);
  const [base, setBase] = useState<number | undefined>(undefined);
  const stamp = useSettled(text.trim() ? text : null, TYPING_MS);
  const checked = useResource(stamp, (signal) => hub.checkRecipe(stamp ?? "", signal));
  const good = stamp === text && !checked.loading && !checked.problem && checked.value;
  const save = async () => {
    try {
      const made = await hub.saveRecipe(text, base);
      onClose();
      go(`/recipes/${made.name}`);
    } catch (error) {
      const problem = asProblem(error);
      setRefused(problem);
      setBase(typeof problem.more.current_version === "number" ? problem.more.current_version : undefined);
    }
  };
  const take = (typed: string) => {
    setText(typed);
    setRefused(null);
    setBase(undefined);
  };
  return (
    <Modal label="Import a recipe" className="asking importing" onClose={onClose}>
      <h2 className="head">Import a recipe</h2>
      <Labelled label="Recipe, as YAML or JSON">
        {(id) => (
          <textarea
            id={id}
            className="plantext mono"
            rows={14}
            spellCheck={false}
            placeholder={"starloom_recipe: 1\nname: my-recipe\n..."}
            value={text}
            onChange={(event) => take(event.target.value)}
          />
        )}
      </Labelled>
      <Labelled label="or a file">
        {(id) => (
          <input
            id={id}
            type="file"
            accept=".yaml,.yml,.json,text/yaml,application/json"
            onChange={({ target }) => {
              const [file] = target.files ?? [];
              if (file && !isRefused(target, file.size)) void file.text().then(take);
            }}
          />
        )}
      </Labelled>
      {checked.problem && stamp && <ProblemNote problem={checked.problem} />}
      {good && (
        <p className="row" role="status">
          <Glyph name="tick" tone="teal" />
          <span>
            <b className="strong">{good.title}</b> reads well: {Object.keys(good.params ?? {}).length} parameters,
            effects {(good.effects ?? []).join(", ") || "none named"}. Importing runs nothing.
          </span>
        </p>
      )}
      {(good ? good.lacking : []).map((one) => (
        <p key={one} className="warning tone-amber">
          <Said text={one} />
        </p>
      ))}
      {refused && <ProblemNote problem={refused} />}
      <div className="row">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          asks="run"
          kind="primary"
          why={!text.trim() ? "Paste a recipe first." : good ? null : "Correct the faults first."}
          onClick={() => void save()}
        >
          {base === undefined ? "Import" : `Import as version ${base + 1}`}
        </Button>
      </div>
    </Modal>
  );
}
