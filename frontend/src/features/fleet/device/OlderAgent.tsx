/** An agent that is older than its hub, with the line that its owner types there. The hub never begins an upgrade. */

import { typedOnDevice } from "../../../model/words/commands.ts";
import { CopyLine } from "../../../ui/parts.tsx";

interface OlderAgentProps {
  name: string;
  version: string;
  hubVersion: string;
  facts: Readonly<Record<string, string>> | undefined;
  /** The hub refuses it: it may be so old that it has no command to upgrade itself. */
  refused?: boolean;
}

export function OlderAgent({ name, version, hubVersion, facts, refused = false }: OlderAgentProps) {
  return (
    <section className="stack" aria-label="An older agent">
      <p className="small">
        {hubVersion && `Its agent ${version} is older than this hub (${hubVersion}). `}To upgrade it, type on {name}:
      </p>
      <CopyLine line={typedOnDevice("starloom-agent upgrade", facts)} label="the line that upgrades it" />
      {refused && (
        <p className="small">Where that is no command, paste the line of Add device there: all else stays.</p>
      )}
    </section>
  );
}
