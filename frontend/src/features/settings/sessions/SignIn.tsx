/** Signing in by a one-time link. Without one it says how to get one; it never waits in silence. */
import type { ReactNode } from "react";
import type { Problem } from "../../../link/rest.ts";
import { typed } from "../../../model/words/commands.ts";
import { Brand } from "../../../ui/Icon.tsx";
import { Button, CopyLine, ProblemNote } from "../../../ui/parts.tsx";

/** The hub names no folder of its computer before a sign-in. */
const FOLDER_LEFT_OPEN = "STARLOOM_HOME=FOLDER";

interface SignInProps {
  problem: Problem | null;
  /** The page was signed in, and the hub has ended that. */
  ended: boolean;
  /** The page was opened by a link that no hub makes. */
  spoiled: boolean;
  working: boolean;
  onRetry: () => void;
}

/** The frame of what is read before a sign-in. */
export function Outside({ children }: { children: ReactNode }) {
  return (
    <main className="signin" id="main">
      <div className="card">
        <div className="brandline">
          <Brand />
          <h1>Starloom</h1>
        </div>
        {children}
      </div>
    </main>
  );
}

export function SignInPage({ problem, ended, spoiled, working, onRetry }: SignInProps) {
  const away = problem?.code === "hub_unreachable";
  return (
    <Outside>
      {working ? (
        <p className="dim" role="status">
          Signing in.
        </p>
      ) : (
        <>
          {problem && problem.code !== "not_signed_in" && <ProblemNote problem={problem} />}
          {problem?.code === "not_signed_in" && problem.faults.length === 0 && problem.reason && (
            <p>{sentenceOf(problem)}</p>
          )}
          {away ? (
            <>
              <p>Start the hub, then try again.</p>
              <CopyLine line="starloom up" label="the command" />
            </>
          ) : (
            <>
              {spoiled && (
                <p role="alert">
                  This sign-in link is not complete: part of it was lost, or something was added, when it was copied.
                  Copy it again.
                </p>
              )}
              {!problem?.reason && !ended && !spoiled && <p className="strong">This browser is not signed in.</p>}
              {ended && (
                <p role="alert">
                  Your sign-in was ended: by you on another page, by an owner of this hub, or by a restore from a
                  backup.
                </p>
              )}
              <p>
                {ended ? "To go on, sign in by a new link; a" : "A"} link works once. If somebody invited you, ask that
                person for a new link.
              </p>
              <p>
                To sign in with your own hub, run this on its computer, in the folder where you started it. It opens
                this page signed in.
              </p>
              <CopyLine line="starloom open" label="the command" />
              {typed("starloom open").includes(FOLDER_LEFT_OPEN) && (
                <p>Write the data folder with which this hub was started in place of FOLDER.</p>
              )}
              <p className="small dim">For a phone: {typed("starloom open --qr")}</p>
            </>
          )}
          <Button onClick={onRetry}>Try again</Button>
        </>
      )}
    </Outside>
  );
}

function sentenceOf(problem: Problem): string {
  const text = problem.reason.charAt(0).toUpperCase() + problem.reason.slice(1);
  return text.endsWith(".") ? text : `${text}.`;
}
