/** All constellations, newest first, searched by the hub. */

import { useState } from "react";
import { Link, useSearch } from "wouter";
import { Shell } from "../../../app/shell/Shell.tsx";
import { useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { usePages } from "../../../app/workspace/resource.ts";
import type { ConstellationRow } from "../../../model/types.ts";
import { constellationShown } from "../../../model/words/words.ts";
import { UNKNOWN, whyNotBy } from "../../../ui/away.tsx";
import { Button, Empty, ProblemNote } from "../../../ui/parts.tsx";
import { Choose, SearchField } from "../../../ui/Search.tsx";
import { RecentRow } from "./RecentRow.tsx";

const STATES = [
  "",
  "looking",
  "active",
  "awaiting_approval",
  "paused",
  "succeeded",
  "partial",
  "failed",
  "cancelled",
] as const;

/** The rows count the tasks at work, and a busy hub changes tasks all the time. */
const LIST_PAUSE_MS = 2000;

export function ConstellationsPage() {
  const { hub, session } = useWorkspace();
  const starts = whyNotBy(session ?? UNKNOWN, "start") === null;
  const now = useNow(5000);
  const [words, setWords] = useState("");
  const asked = new URLSearchParams(useSearch()).get("state");
  const [state, setState] = useState<(typeof STATES)[number]>(STATES.find((one) => one === asked) ?? "");
  const list = usePages<ConstellationRow>(
    `${state}/${words}`,
    (cursor, signal) => hub.constellations({ q: words, state: state ? [state] : [], cursor }, signal),
    ["constellations", "tasks"],
    LIST_PAUSE_MS,
  );
  return (
    <Shell title="Constellations">
      <div className="page cards">
        <div className="row wrap filters">
          <SearchField
            label="Search constellations"
            placeholder="Names and requests"
            value={words}
            onChange={setWords}
          />
          <Choose
            label="State"
            value={state}
            choices={STATES.map((one) => [one, one ? constellationShown(one).word : "Any state"] as const)}
            onChange={setState}
          />
        </div>
        <section className="card">
          {list.items.map((row) => (
            <RecentRow key={row.id} row={row} now={now} />
          ))}
          {list.items.length === 0 && list.read && (
            <Empty title={words || state ? "No constellation fits." : "Nothing has run yet."}>
              {!words && !state && (
                <>
                  <p>A constellation is the graph of tasks made for one request; its answer stays here.</p>
                  {starts && (
                    <Link className="btn primary" href="/new">
                      New request
                    </Link>
                  )}
                </>
              )}
            </Empty>
          )}
        </section>
        {list.problem && <ProblemNote problem={list.problem} />}
        {list.more && (
          <Button asks="anyone" aria-busy={list.adding || undefined} onClick={list.more}>
            Show more
          </Button>
        )}
      </div>
    </Shell>
  );
}
