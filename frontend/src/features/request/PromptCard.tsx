/** Words that a model plans: the share of results for this request, and on one press the exact text that would leave. */

import { useState } from "react";
import { Link } from "wouter";
import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import type { FirstPrompt, Sharing } from "../../model/types.ts";
import { costWords, SHARED, upTo, whereWords } from "../../model/words/sharing.ts";
import { Button, Labelled, ProblemNote } from "../../ui/parts.tsx";

const PAUSE_MS = 3000;

interface PromptCardProps {
  words: string;
  /** The most that the hub lets its model be shown. */
  most: Sharing;
  /** The choice for this request; null is that of the hub. */
  sharing: Sharing | null;
  onSharing: (sharing: Sharing | null) => void;
}

export default function PromptCard({ words, most, sharing, onSharing }: PromptCardProps) {
  const { hub, session } = useWorkspace();
  const [open, setOpen] = useState(false);
  const found = useResource(
    open ? `prompt ${sharing} ${words}` : null,
    (signal) => hub.promptPreview({ request: words, ...(sharing ? { sharing } : {}) }, signal),
    ["devices", "recipes"],
    PAUSE_MS,
  );
  return (
    <section className="card leaves" aria-label="What leaves this machine">
      <header>
        <h2>What leaves this machine</h2>
      </header>
      <div className="body stack">
        <Labelled label="What the model may see of results, for this request">
          {(id) => (
            <select
              id={id}
              className="input"
              value={sharing ?? ""}
              onChange={(event) => onSharing((event.target.value || null) as Sharing | null)}
            >
              <option value="">{`As the hub is set. ${SHARED[most]}`}</option>
              {upTo(most).map((one) => (
                <option key={one} value={one}>
                  {SHARED[one]}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        {most !== "cards_and_file_heads" && (
          <p className="small dim">
            A request shares no more than the hub.{" "}
            {session?.role === "owner" ? (
              <Link className="link" href="/settings">
                Change that in Settings
              </Link>
            ) : (
              "Its owner can change that."
            )}
          </p>
        )}
        <div className="row wrap">
          <Button aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide the text" : "Show the exact text"}
          </Button>
          {open && found.loading && <span className="dim">Reading.</span>}
        </div>
        {open && found.problem && <ProblemNote problem={found.problem} />}
        {open && found.value && <Sent prompt={found.value} />}
      </div>
    </section>
  );
}

function Sent({ prompt }: { prompt: FirstPrompt }) {
  return (
    <>
      <p role="status">
        {whereWords(prompt)}: {costWords(prompt)}. Results: {SHARED[prompt.share]}.
      </p>
      <p className="small dim">
        Nothing has been sent. This is the first text; answers to looks and faults of a plan are sent after it, and the
        tab Conversation shows each.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must be able to. */}
      <section className="exact" aria-label="The exact text" tabIndex={0}>
        {prompt.parts.map((part) => (
          <section key={part.title} aria-label={part.title}>
            <h3 className="small strong dim">{part.title}</h3>
            <pre className="mono small">{part.text}</pre>
          </section>
        ))}
      </section>
    </>
  );
}
