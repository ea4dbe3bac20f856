/** The fields of a model's endpoint: address, model, key and format. */
import type { SetModel } from "../../../model/types.ts";
import { Labelled } from "../../../ui/parts.tsx";

const WIRES = [
  { value: "", label: "By its address" },
  { value: "openai", label: "Chat format of OpenAI" },
  { value: "anthropic", label: "Anthropic" },
] as const;

export interface EndpointDraft {
  url: string;
  model: string;
  wire: SetModel["wire"];
  key: string;
}

interface EndpointFieldsProps {
  draft: EndpointDraft;
  /** The labels of the address and the key. */
  address: string;
  keyWords: string;
  onChange: (part: Partial<EndpointDraft>) => void;
}

export function EndpointFields({ draft, address, keyWords, onChange }: EndpointFieldsProps) {
  return (
    <>
      <Labelled label={address}>
        {(id) => (
          <input
            id={id}
            className="input"
            inputMode="url"
            autoComplete="off"
            spellCheck={false}
            value={draft.url}
            onChange={(event) => onChange({ url: event.target.value })}
          />
        )}
      </Labelled>
      <Labelled label="Model">
        {(id) => (
          <input
            id={id}
            className="input"
            autoComplete="off"
            spellCheck={false}
            value={draft.model}
            onChange={(event) => onChange({ model: event.target.value })}
          />
        )}
      </Labelled>
      <Labelled label={keyWords}>
        {(id) => (
          <input
            id={id}
            className="input"
            type="password"
            autoComplete="off"
            value={draft.key}
            onChange={(event) => onChange({ key: event.target.value })}
          />
        )}
      </Labelled>
      <Labelled label="Format">
        {(id) => (
          <select
            id={id}
            className="input"
            value={draft.wire}
            onChange={(event) => onChange({ wire: event.target.value as EndpointDraft["wire"] })}
          >
            {WIRES.map((wire) => (
              <option key={wire.value} value={wire.value}>
                {wire.label}
              </option>
            ))}
          </select>
        )}
      </Labelled>
    </>
  );
}
