/** Setting a secret, or replacing its value. What is typed is not shown, and is gone from the page once it is sent. */

import { useRef, useState } from "react";
import { useFleet, useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import { SECRET_NAME, Secrets } from "../../../link/secrets.ts";
import { devices } from "../../../model/fleet/fleet.ts";
import type { SecretRow } from "../../../model/types.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Button, Labelled, ProblemNote } from "../../../ui/parts.tsx";

interface SecretDialogProps {
  /** Fixed where a plan names it or its value is replaced. */
  name?: string;
  replaced?: SecretRow;
  onClose: () => void;
  onSet: (row: Pick<SecretRow, "name" | "version">) => void;
}

export function SecretDialog({ name: fixed, replaced, onClose, onSet }: SecretDialogProps) {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const value = useRef<HTMLTextAreaElement>(null);
  const [name, setName] = useState(fixed ?? "");
  const [filled, setFilled] = useState(false);
  const [chosen, setChosen] = useState<string[]>(() => (replaced?.devices ?? []).map((device) => device.id));
  const [saving, setSaving] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  const known = [...devices(fleet).values()].filter((view) => !view.device.revoked);
  const why = !SECRET_NAME.test(name)
    ? "A name has letters, digits, - _ and ., at most 64."
    : !filled
      ? "Type the value first."
      : null;
  const save = async () => {
    if (why || saving || !value.current) return;
    setSaving(true);
    setRefused(null);
    try {
      const row = await new Secrets(hub.rest).set(name, { value: value.current.value, devices: chosen });
      value.current.value = "";
      onSet(row);
    } catch (error) {
      setRefused(asProblem(error));
      setSaving(false);
    }
  };
  return (
    <Modal label={replaced ? `Replace ${name}` : "Set a secret"} className="scheduling secret" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div className="row dialog-head">
          <h2 className="head grow">{replaced ? `Replace ${name}` : "Set a secret"}</h2>
          <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
        </div>
        <div className="body">
          <Labelled label="Name, as plans use it">
            {(id) => (
              <input
                id={id}
                className="field"
                autoComplete="off"
                spellCheck={false}
                maxLength={64}
                readOnly={fixed !== undefined}
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Labelled>
          <Labelled label="Value">
            {(id) => (
              <textarea
                id={id}
                ref={value}
                className="field masked"
                rows={3}
                autoComplete="off"
                spellCheck={false}
                onChange={(event) => setFilled(event.target.value.trim().length > 0)}
              />
            )}
          </Labelled>
          <fieldset className="stack">
            <legend className="small dim">Devices that may receive it; none chosen means any</legend>
            {known.map((view) => (
              <label key={view.device.id} className="row">
                <input
                  type="checkbox"
                  checked={chosen.includes(view.device.id)}
                  onChange={(event) =>
                    setChosen((held) =>
                      event.target.checked
                        ? [...held, view.device.id]
                        : held.filter((device) => device !== view.device.id),
                    )
                  }
                />
                {view.device.name}
              </label>
            ))}
          </fieldset>
          <p className="small dim">
            It is kept encrypted, given to a task at the moment it runs, and never shown again - not here either.
          </p>
          {refused && <ProblemNote problem={refused} />}
        </div>
        <div className="row dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button asks="access" kind="primary" type="submit" why={why} aria-busy={saving || undefined}>
            {replaced ? "Replace" : "Set"}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
