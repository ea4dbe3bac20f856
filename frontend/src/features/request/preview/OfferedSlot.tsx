/** A field whose values are the names of files on a device: looked for on a press, and then chosen from a list. */
import { useId, useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { RecipeParam } from "../../../model/types.ts";
import { bytes, dateTime } from "../../../model/words/words.ts";
import { Button } from "../../../ui/parts.tsx";
import { type Found, foundIn, isAsked, lookFor } from "./offered.ts";

const WAIT_S = 30;

interface OfferedSlotProps {
  label: string;
  value: string;
  absent: string;
  offers: NonNullable<RecipeParam["offers"]>;
  params: Record<string, unknown>;
  onChange: (value: string) => void;
}

export function OfferedSlot({ label, value, absent, offers, params, onChange }: OfferedSlotProps) {
  const id = useId();
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [found, setFound] = useState<Found[]>([]);
  const [looking, setLooking] = useState(false);
  const look = async () => {
    setLooking(true);
    try {
      const made = await hub.submitAndWait(lookFor(offers, params), WAIT_S);
      const files = foundIn(made);
      setFound(files);
      if (files.length === 0) say(made.answer?.sentence || "There is none.");
    } catch (error) {
      report(error);
    } finally {
      setLooking(false);
    }
  };
  const known = found.some((file) => file.name === value);
  return (
    <span className="slot-field">
      <label htmlFor={id}>{label}</label>
      {found.length > 0 ? (
        <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{absent || "none chosen"}</option>
          {value && !known && <option value={value}>{value}</option>}
          {found.map((file) => (
            <option key={file.name} value={file.name}>
              {dateTime(file.mtime_s * 1000)}, {bytes(file.bytes)}: {file.name}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          size={Math.max(12, Math.min(28, value.length + 1))}
          placeholder={absent || "none chosen"}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      <Button
        asks="start"
        kind="quiet"
        aria-busy={looking || undefined}
        why={isAsked(offers, params) ? (looking ? "It is being looked for." : null) : "Choose the device first."}
        onClick={() => void look()}
      >
        Show them
      </Button>
    </span>
  );
}
