/** An agent that is older than its hub, with the line that its owner types there. The hub never begins an upgrade. */
import { CopyLine } from "../../../ui/parts.tsx";
import { typedOnDevice } from "../../../ui/typed.ts";

interface OlderAgentProps {
  name: string;
  version: string;
  hubVersion: string;
  facts: Readonly<Record<string, string>> | undefined;
}

export function OlderAgent({ name, version, hubVersion, facts }: OlderAgentProps) {
  return (
    <section className="stack" aria-label="An older agent">
      <p className="small">
        Its agent {version} is older than this hub ({hubVersion}). To upgrade it, type on {name}:
      </p>
      <CopyLine line={typedOnDevice("starloom-agent upgrade", facts)} label="the line that upgrades it" />
    </section>
  );
}
