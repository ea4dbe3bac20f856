/** Words that say how often: launching runs them once, and a schedule with that clock repeats them. */
import { useState } from "react";
import { useLocation } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import type { Runs } from "../../link/schedules.ts";
import type { Understood } from "../../model/types.ts";
import { Button } from "../../ui/parts.tsx";
import { newTerms, ScheduleDialog } from "../schedules/ScheduleDialog.tsx";

export type Rhythm = NonNullable<Understood["rhythm"]>;

interface RhythmNoteProps {
  rhythm: Rhythm;
  /** Null while it is not clear what is meant. */
  runs: Runs | null;
  onScheduled: () => void;
}

export function RhythmNote({ rhythm, runs, onScheduled }: RhythmNoteProps) {
  const [open, setOpen] = useState(false);
  const { say } = useDoing();
  const [, go] = useLocation();
  return (
    <div className="row wrap" role="note">
      <span>
        Your words say <b>{rhythm.in_words}</b>. <i>Launch</i> runs it once, now; a schedule repeats it.
      </span>
      <Button
        icon="clock"
        why={runs ? null : "Choose what is meant first."}
        onClick={() => setOpen(true)}
        aria-haspopup="dialog"
      >
        Schedule it...
      </Button>
      {open && (
        <ScheduleDialog
          title={`Schedule: ${rhythm.request}`}
          runs={runs}
          terms={{ ...newTerms(rhythm.request), cron: rhythm.cron, except_days: rhythm.except_days }}
          onClose={() => setOpen(false)}
          onSaved={(row) => {
            setOpen(false);
            onScheduled();
            say(`${row.name} is scheduled`);
            go("/schedules");
          }}
        />
      )}
    </div>
  );
}
