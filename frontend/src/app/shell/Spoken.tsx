/**
 * The words that a screen reader says about this page: how it stands with its subject, that something came that needs
 * the person, and that the hub is away or back. Each change once; nothing of what the page showed when it was opened.
 */
import { useEffect, useRef, useState } from "react";
import { useLink } from "../workspace/context.ts";

interface SpokenProps {
  /** How many things need the person now. */
  waiting: number;
  /** How it stands with the subject of the page, such as *Back up the photos: done*. */
  standing?: string;
}

export function Spoken({ waiting, standing }: SpokenProps) {
  const [line, setLine] = useState("");
  const before = useRef({ waiting, standing });
  useEffect(() => {
    const was = before.current;
    before.current = { waiting, standing };
    const lines = standing && was.standing && standing !== was.standing ? [standing] : [];
    if (waiting > was.waiting) lines.push(waiting === 1 ? "One thing needs you" : `${waiting} things need you`);
    // An emptied region says nothing, and the same words can be said again later.
    if (lines.length > 0 || waiting < was.waiting) setLine(lines.join(". "));
  }, [waiting, standing]);
  return (
    <div className="sr">
      <p role="status">{line}</p>
      <p role="status">{useConnection()}</p>
    </div>
  );
}

/** The words on the connection. Catching up takes a moment and comes often, so it is not said. */
function useConnection(): string {
  const { state } = useLink();
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (state === "offline") setSaid("The hub cannot be reached");
    else if (state === "live") setSaid((held) => (held ? "The hub is back" : ""));
  }, [state]);
  return said;
}
