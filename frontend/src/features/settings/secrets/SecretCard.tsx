/** Secrets in Settings: the name, version and receivers of each; set, replace, remove. A value is never shown. */

import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { Secrets } from "../../../link/secrets.ts";
import type { SecretRow } from "../../../model/types.ts";
import { msOf } from "../../../model/words/times.ts";
import { age } from "../../../model/words/words.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Button, ProblemNote } from "../../../ui/parts.tsx";
import { SecretDialog } from "./SecretDialog.tsx";

export function SecretCard() {
  const { hub, session } = useWorkspace();
  const { report, say } = useDoing();
  const now = useNow(10_000);
  const api = new Secrets(hub.rest);
  const kept = useResource("secrets", (signal) => api.list(signal));
  const [open, setOpen] = useState<SecretRow | "new" | null>(null);
  const why = session?.role === "owner" ? null : "Only an owner sets secrets.";
  const [removed, setRemoved] = useState<SecretRow | null>(null);
  const remove = async (row: SecretRow) => {
    setRemoved(null);
    try {
      await api.remove(row.name);
      say(`${row.name} is removed; what needs it waits`);
      kept.reload();
    } catch (error) {
      report(error);
    }
  };
  return (
    <section className="card secrets" aria-label="Secrets">
      <header>
        <h2>Secrets</h2>
        <Button asks="access" icon="plus" why={why} onClick={() => setOpen("new")}>
          Set a secret
        </Button>
      </header>
      {kept.problem && <ProblemNote problem={kept.problem} />}
      {(kept.value?.items ?? []).map((row) => (
        <div key={row.name} className="item">
          <span />
          <b className="strong cut" title={row.name}>
            {row.name}
          </b>
          <span className="row">
            <Button asks="access" why={why} aria-label={`Replace ${row.name}`} onClick={() => setOpen(row)}>
              Replace
            </Button>
            <Button asks="access" why={why} aria-label={`Remove ${row.name}`} onClick={() => setRemoved(row)}>
              Remove
            </Button>
          </span>
          <span className="sub small">{said(row, now)}</span>
        </div>
      ))}
      {kept.value?.items.length === 0 && (
        <p className="item">
          <span />
          <span className="sub small">
            No secret is set. A plan names one as {"{secret: NAME}"}; its value goes to the device that runs the task,
            and nowhere else.
          </span>
        </p>
      )}
      {removed && (
        <Modal label={`Remove ${removed.name}`} className="asking" onClose={() => setRemoved(null)}>
          <h2 className="head">Remove {removed.name}?</h2>
          <p className="dim">
            Its value is gone for good: nobody can read it here. Work that needs it waits until {removed.name} is set
            again.
          </p>
          <div className="row">
            <Button large onClick={() => setRemoved(null)}>
              Keep it
            </Button>
            <Button large asks="access" kind="bad" why={why} onClick={() => void remove(removed)}>
              Remove it
            </Button>
          </div>
        </Modal>
      )}
      {open && (
        <SecretDialog
          name={open === "new" ? undefined : open.name}
          replaced={open === "new" ? undefined : open}
          onClose={() => setOpen(null)}
          onSet={(row) => {
            setOpen(null);
            say(`${row.name} is set`);
            kept.reload();
          }}
        />
      )}
    </section>
  );
}

function said(row: SecretRow, now: number): string {
  const only = [
    ["on", row.devices.map((device) => device.name)],
    ["for", row.tools],
    ["in plans of", row.recipes],
  ] as const;
  const limits = only.filter(([, names]) => names.length > 0).map(([word, names]) => `${word} ${names.join(", ")}`);
  const used = row.last_used_at ? `last used ${age(msOf(row.last_used_at), now)}` : "never used";
  const who = limits.length > 0 ? `Only ${limits.join(" ")}` : "Any device may receive it";
  return `${who}. Version ${row.version}, set ${age(msOf(row.set_at), now)}, ${used}.`;
}
