/** In a preview: which secret goes to which device, and for one that is not set the line to type or to set it here. */

import { useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { SecretNeed } from "../../../model/types.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Button, CopyLine } from "../../../ui/parts.tsx";
import { SecretDialog } from "../../settings/secrets/SecretDialog.tsx";

export function SecretLines({ secrets }: { secrets: readonly SecretNeed[] }) {
  const { session } = useWorkspace();
  const [open, setOpen] = useState<string | null>(null);
  const [made, setMade] = useState<readonly string[]>([]);
  return (
    <>
      {secrets.map((secret) => {
        const given = secret.set || made.includes(secret.name);
        return given ? (
          <p key={secret.name} className="warning secretline">
            <Glyph name="tick" tone="teal" />
            <span>
              The secret <b className="strong">{secret.name}</b> is given to{" "}
              {secret.devices.join(", ") || "no device yet"}, for {secret.tasks.join(", ")}.
            </span>
          </p>
        ) : (
          <div key={secret.name} className="warning secretline missing">
            <Glyph name="hand" tone="violet" />
            <span className="grow">
              The secret <b className="strong">{secret.name}</b> is not set. {secret.tasks.join(", ")} waits until it
              is.
            </span>
            <CopyLine line={secret.line ?? ""} label={`the line to type for ${secret.name}`} />
            <Button
              asks="access"
              why={session?.role === "owner" ? null : "Only an owner sets secrets."}
              onClick={() => setOpen(secret.name)}
            >
              Set it here
            </Button>
          </div>
        );
      })}
      {open && (
        <SecretDialog
          name={open}
          onClose={() => setOpen(null)}
          onSet={(row) => {
            setMade((held) => [...held, row.name]);
            setOpen(null);
          }}
        />
      )}
    </>
  );
}
