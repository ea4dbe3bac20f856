/** Setting the model: address, name, key and budget, tried before it is kept. The key is sent once and never read back. */

import { useId, useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { ModelState, SetModel, Sharing } from "../../../model/types.ts";
import { type Bounds, numberIn } from "../../../model/words/exact.ts";
import { SHARED } from "../../../model/words/sharing.ts";
import { Labelled } from "../../../ui/parts.tsx";
import { type EndpointDraft, EndpointFields } from "./EndpointFields.tsx";
import { EndpointForm, endpointOf } from "./EndpointForm.tsx";

interface ModelFormProps {
  found: ModelState;
  onDone: () => void;
}

interface Draft extends EndpointDraft {
  dollars: string;
  tokens: string;
  share: Sharing;
}

/** As the hub takes them. */
const DOLLARS: Bounds = { least: 0, most: 1_000_000 };
const TOKENS: Bounds = { whole: true, least: 0, most: 10 ** 12 };

function wantedOf(draft: Draft): SetModel {
  return {
    ...endpointOf(draft),
    dollars_per_day: numberIn(draft.dollars, DOLLARS).value,
    tokens_per_day: numberIn(draft.tokens, TOKENS).value,
    share: draft.share,
  };
}

interface LimitProps {
  label: string;
  text: string;
  bounds: Bounds;
  onChange: (text: string) => void;
}

function Limit({ label, text, bounds, onChange }: LimitProps) {
  const { fault } = numberIn(text, bounds);
  const told = useId();
  return (
    <Labelled label={label}>
      {(id) => (
        <>
          <input
            id={id}
            className="input"
            inputMode={bounds.whole ? "numeric" : "decimal"}
            aria-invalid={fault !== null}
            aria-describedby={fault ? told : undefined}
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
          {fault && (
            <span id={told} className="small word tone-vermilion" role="alert">
              It {fault}.
            </span>
          )}
        </>
      )}
    </Labelled>
  );
}

export function ModelForm({ found, onDone }: ModelFormProps) {
  const { hub } = useWorkspace();
  const { say } = useDoing();
  const [draft, setDraft] = useState<Draft>({
    url: found.url ?? "",
    model: found.model ?? "",
    wire: "",
    key: "",
    dollars: found.budget?.dollars_per_day?.toString() ?? "",
    tokens: found.url ? (found.budget?.tokens_per_day?.toString() ?? "") : "",
    share: found.share ?? "cards",
  });
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const save = async () => {
    await hub.setModel(wantedOf(draft));
    say("The model is set and counts from now on");
  };
  const forget = async () => {
    await hub.forgetModel();
    say("The model is forgotten, and its key with it");
  };
  const keeps = found.key && found.url === draft.url.trim();
  const wrong = numberIn(draft.dollars, DOLLARS).fault ?? numberIn(draft.tokens, TOKENS).fault;
  const why =
    draft.url.trim() && draft.model.trim() ? wrong && `A limit ${wrong}.` : "It needs an address and a model.";
  return (
    <EndpointForm
      label="Set the model"
      draft={draft}
      why={why}
      test={() => hub.tryModel(wantedOf(draft))}
      save={save}
      forget={found.set ? forget : undefined}
      onDone={onDone}
    >
      <EndpointFields
        draft={draft}
        onChange={change}
        address="Address, such as https://HOST/v1"
        keyWords={keeps ? "Key (one is kept; leave empty to keep it)" : "Key, if it needs one"}
      />
      <Limit
        label="Dollars a day, if limited"
        text={draft.dollars}
        bounds={DOLLARS}
        onChange={(dollars) => change({ dollars })}
      />
      <Limit
        label="Tokens a day; empty is a million"
        text={draft.tokens}
        bounds={TOKENS}
        onChange={(tokens) => change({ tokens })}
      />
      <Labelled label="What it may see of results when it looks before it plans">
        {(id) => (
          <select
            id={id}
            className="input"
            value={draft.share}
            onChange={(event) => change({ share: event.target.value as Sharing })}
          >
            {Object.entries(SHARED).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Labelled>
    </EndpointForm>
  );
}
