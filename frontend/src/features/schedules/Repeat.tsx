/** *Repeat...* on what has ended: the same work on a clock. */
import { useState } from "react";
import { useLocation } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import type { Raised } from "../../ui/Modal.tsx";
import { Button } from "../../ui/parts.tsx";
import { newTerms, ScheduleDialog } from "./ScheduleDialog.tsx";

export function useRepeat(constellation: string, name: string): Raised & { open: () => void } {
  const [open, setOpen] = useState(false);
  const { say } = useDoing();
  const [, go] = useLocation();
  return {
    open: () => setOpen(true),
    button: (
      <Button asks="run" icon="clock" onClick={() => setOpen(true)}>
        Repeat...
      </Button>
    ),
    dialog: open && (
      <ScheduleDialog
        title={`Repeat ${name}`}
        runs={{ from_constellation: constellation }}
        terms={newTerms()}
        onClose={() => setOpen(false)}
        onSaved={(row) => {
          setOpen(false);
          say(`${row.name} is scheduled`);
          go("/schedules");
        }}
      />
    ),
  };
}
