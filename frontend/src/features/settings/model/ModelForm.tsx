/** Setting the model: address, name, key and budget, tried before it is kept. The key is sent once and never read back. */

import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { ModelState, SetModel, Sharing } from "../../../model/types.ts";
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

function numberOf(text: string): number | null {
  const value = Number(text.trim());
  return text.trim() === "" || !Number.isFinite(value) || value < 0 ? null : value;
}

function wantedOf(draft: Draft): SetModel {
  const tokens = numberOf(draft.tokens);
  return {
    ...endpointOf(draft),
    dollars_per_day: numberOf(draft.dollars),
    tokens_per_day: tokens === null ? null : Math.round(tokens),
    share: draft.share,
  };
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
  const why = draft.url.trim() && draft.model.trim() ? null : "It needs an address and a model.";
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
      <Labelled label="Dollars a day, if limited">
        {(id) => (
          <input
            id={id}
            className="input"
            inputMode="decimal"
            value={draft.dollars}
            onChange={(event) => change({ dollars: event.target.value })}
          />
        )}
      </Labelled>
      <Labelled label="Tokens a day; empty is a million">
        {(id) => (
          <input
            id={id}
            className="input"
            inputMode="numeric"
            value={draft.tokens}
            onChange={(event) => change({ tokens: event.target.value })}
          />
        )}
      </Labelled>
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
