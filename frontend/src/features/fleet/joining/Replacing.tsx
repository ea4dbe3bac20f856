/** The older device whose place the new one takes, chosen before it joins, with what its approval then ends. */
import { useFleet, useWorkspace } from "../../../app/workspace/context.ts";
import { devices, mayNotRevoke } from "../../../model/fleet/fleet.ts";
import { Choose } from "../../../ui/Search.tsx";

interface ReplacingProps {
  /** The id of the older device; empty for a further one. */
  chosen: string;
  onChange: (device: string) => void;
}

export function Replacing({ chosen, onChange }: ReplacingProps) {
  const fleet = useFleet();
  const { session } = useWorkspace();
  const older = [...devices(fleet).values()].map((view) => view.device).filter((one) => !mayNotRevoke(one, session));
  if (older.length === 0) return null;
  const name = older.find((one) => one.id === chosen)?.name;
  return (
    <details className="small">
      <summary>It takes the place of an older device</summary>
      <div className="stack">
        <Choose
          label="The device whose place it takes"
          value={chosen}
          choices={[["", "No device"], ...older.map((one) => [one.id, one.name] as const)]}
          onChange={onChange}
        />
        {name && (
          <p role="status">
            When you approve the new device, it takes over the name <b>{name}</b> and its labels, by which plans and
            schedules find it. The older one is revoked in the same moment, for good: it is let in no more, and its
            files stay on it. Where it may have done half of something that must not happen twice, you are asked whether
            it happened.
          </p>
        )}
      </div>
    </details>
  );
}
