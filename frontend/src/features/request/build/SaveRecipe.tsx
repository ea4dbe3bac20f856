/** *Save as recipe*: a name, phrases, and the constants that become parameters; what looks like a secret is left out. */
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import { type Draft, documentOf, type Fields, isFields, paramsOf, slug, textOf } from "../../../model/rows/document.ts";
import { headOf, proposals, withNames, withoutSecrets, withParam, wrongNames } from "../../../model/rows/params.ts";
import { shortWords } from "../../../model/rows/sample.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Button, Labelled, ProblemNote } from "../../../ui/parts.tsx";
import { KeptParams } from "./KeptParams.tsx";

interface SaveRecipeProps {
  draft: Draft;
  effects: readonly string[];
  /** The proposal that is kept by it. */
  proposal?: string;
  /** The parameters of it that its person filled by an answer. */
  answers?: readonly string[];
  onSaved?: () => void;
  onClose: () => void;
}

const named = (title: string): string => slug(title).slice(0, 64);

export function SaveRecipe({ draft, effects, proposal, answers = [], onSaved, onClose }: SaveRecipeProps) {
  const { hub } = useWorkspace();
  const [, go] = useLocation();
  const clean = useMemo(() => withoutSecrets(draft), [draft]);
  const offered = useMemo(() => proposals(clean.draft), [clean]);
  const head = headOf(draft);
  const [title, setTitle] = useState(textOf(head.title) || textOf(draft.plan.name));
  const [name, setName] = useState(textOf(head.name));
  const [phrase, setPhrase] = useState(Array.isArray(head.phrases) ? textOf(head.phrases[0]) : "");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(
    () =>
      new Set(
        offered
          .filter((one) => one.type === "device" || one.type === "path" || one.type === "url")
          .map((one) => one.name),
      ),
  );
  const [slots, setSlots] = useState<Readonly<Record<string, string>>>({});
  const [names, setNames] = useState<Readonly<Record<string, string>>>({});
  const wrongly = wrongNames(clean.draft, names);
  const [problem, setProblem] = useState<Problem | null>(null);
  // Saved here before: what is saved now follows the version that was opened.
  const [base, setBase] = useState<number | null>(() =>
    !proposal && textOf(head.name) && typeof head.version === "number" ? head.version : null,
  );
  const [busy, setBusy] = useState(false);

  const save = async () => {
    let made = proposal ? withNames(clean.draft, names) : clean.draft;
    for (const one of offered) if (chosen.has(one.name)) made = withParam(made, one);
    const recipe: Fields = {
      starloom_recipe: 1,
      name: name || named(title),
      title,
      version: typeof head.version === "number" ? head.version : 1,
      ...(phrase.trim() ? { phrases: [phrase.trim()] } : {}),
      ...(Object.keys(paramsOf(made)).length ? { params: paramsOf(made) } : {}),
      ...(effects.length ? { effects: [...effects] } : {}),
    };
    setBusy(true);
    try {
      const saved = await hub.saveRecipe(
        documentOf({ head: recipe, plan: { ...made.plan, name: title } }),
        base ?? undefined,
        proposal,
      );
      onSaved?.();
      go(`/recipes/${saved.name}`);
    } catch (error) {
      const found = asProblem(error);
      setProblem(found);
      setBase(
        found.code === "conflict" && typeof found.more.current_version === "number" ? found.more.current_version : null,
      );
    } finally {
      setBusy(false);
    }
  };
  const toggle = (one: string) =>
    setChosen((held) => new Set(held.has(one) ? [...held].filter((name) => name !== one) : [...held, one]));
  const wrong = !title.trim()
    ? "Give it a title first."
    : Object.keys(wrongly).length
      ? "Correct the names of the parameters first."
      : null;
  // The slot of the words goes along with the name.
  const rename = (param: string, next: string) => {
    const changed = { ...names, [param]: next };
    setNames(changed);
    if (wrongNames(clean.draft, changed)[param]) return;
    setPhrase(phrase.replaceAll(`{${slots[param] ?? param}}`, `{${next}}`));
    setSlots({ ...slots, [param]: next });
  };
  return (
    <Modal label="Save as recipe" className="asking saving" onClose={onClose}>
      <h2 className="head">Save as recipe</h2>
      <Labelled label="Title">
        {(id) => <input id={id} className="input" value={title} onChange={(event) => setTitle(event.target.value)} />}
      </Labelled>
      <Labelled label="Name">
        {(id) => (
          <input
            id={id}
            className="input mono"
            placeholder={named(title)}
            value={name}
            onChange={(event) => {
              setName(event.target.value);
              setBase(null);
            }}
          />
        )}
      </Labelled>
      <Labelled label="Words to type for it; {name} stands for a parameter">
        {(id) => (
          <input
            id={id}
            className="input"
            placeholder="for example: copy {folder} to {target}"
            value={phrase}
            onChange={(event) => setPhrase(event.target.value)}
          />
        )}
      </Labelled>
      {proposal && (
        <KeptParams
          draft={clean.draft}
          phrase={phrase}
          answers={answers}
          names={names}
          slots={slots}
          wrong={wrongly}
          onName={rename}
        />
      )}
      {offered.length > 0 && (
        <fieldset className="stack">
          <legend className="small dim">
            {proposal ? "Also to be asked for at each run" : "Asked for at each run"}
          </legend>
          {offered.map((one) => (
            <label key={one.name} className="row">
              <input type="checkbox" checked={chosen.has(one.name)} onChange={() => toggle(one.name)} />
              <span className="ref">{one.name}</span>
              <span className="small dim cut">
                {one.type}, now {isFields(one.value) ? textOf(one.value.name) : shortWords(one.value)}
                {one.places.length > 1 ? `, in ${one.places.length} places` : ""}
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {clean.secrets.length > 0 && (
        <p className="warning tone-amber">
          Left out, because it looks secret: {clean.secrets.join(", ")}. The recipe names it there and keeps no value.
        </p>
      )}
      {problem && <ProblemNote problem={problem} />}
      <div className="row">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          asks="run"
          kind="primary"
          why={wrong ?? (busy ? "It is being saved." : null)}
          onClick={() => void save()}
        >
          {base === null ? "Save" : `Save as version ${base + 1}`}
        </Button>
      </div>
    </Modal>
  );
}
