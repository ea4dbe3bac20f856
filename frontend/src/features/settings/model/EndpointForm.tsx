/** The form around a model's endpoint: a test before it is kept, and one act at a time. Knows no role. */
import { type ReactNode, useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useNow } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import type { ModelReply } from "../../../model/types.ts";
import { Button, ProblemNote } from "../../../ui/parts.tsx";
import type { EndpointDraft } from "./EndpointFields.tsx";

interface EndpointFormProps {
  label: string;
  /** The outcome of a test is shown as long as this draft is the one that was tested. */
  draft: EndpointDraft;
  /** Why it cannot be tested and saved; null if it can. */
  why: string | null;
  test: () => Promise<ModelReply>;
  save: () => Promise<void>;
  /** Only where there is a setting to forget. */
  forget?: (() => Promise<void>) | undefined;
  onDone: () => void;
  children: ReactNode;
}

/** The part of what is sent that every role has: an untouched key field keeps the key of an unchanged address. */
export function endpointOf(draft: EndpointDraft) {
  const { url, model, wire, key } = draft;
  return { url: url.trim(), model: model.trim(), wire, ...(key ? { key } : {}) };
}

/** How long a test has taken: a model on a small machine may need a minute. */
function Asking() {
  const nowMs = useNow(1000);
  const [sinceMs] = useState(nowMs);
  const seconds = Math.max(0, Math.round((nowMs - sinceMs) / 1000));
  return (
    <p className="small" role="status">
      Waiting for its answer, {seconds} s so far
    </p>
  );
}

export function EndpointForm({ label, draft, why, test, save, forget, onDone, children }: EndpointFormProps) {
  const { report } = useDoing();
  const [busy, setBusy] = useState<"" | "try" | "save">("");
  const [tried, setTried] = useState<{ draft: EndpointDraft; outcome: string | Problem } | null>(null);
  const act = async (what: "try" | "save", does: () => Promise<void>, failed: (error: unknown) => void) => {
    setBusy(what);
    try {
      await does();
    } catch (error) {
      failed(error);
    } finally {
      setBusy("");
    }
  };
  const keep = (does: () => Promise<void>) => act("save", () => does().then(onDone), report);
  const tryIt = () => {
    setTried(null);
    const show = (outcome: string | Problem) => setTried({ draft, outcome });
    const ask = async () => {
      const answer = await test();
      show(`It answered in ${answer.seconds} s with ${answer.tokens} tokens: ${answer.reply}`);
    };
    return act("try", ask, (error) => show(asProblem(error)));
  };
  return (
    <form
      className="stack modelform"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        if (!why) void keep(save);
      }}
    >
      {children}
      {busy === "try" && <Asking />}
      {tried?.draft === draft &&
        (typeof tried.outcome === "string" ? (
          <p className="small" role="status">
            {tried.outcome}
          </p>
        ) : (
          <ProblemNote problem={tried.outcome} />
        ))}
      <div className="row wrap">
        <Button asks="access" type="submit" kind="primary" why={why} disabled={busy !== ""}>
          {busy === "save" ? "Saving" : "Save"}
        </Button>
        <Button asks="access" why={why} disabled={busy !== ""} onClick={() => void tryIt()}>
          {busy === "try" ? "Asking" : "Test before saving"}
        </Button>
        <Button kind="quiet" onClick={onDone}>
          Cancel
        </Button>
        {forget && (
          <Button asks="access" kind="bad" disabled={busy !== ""} onClick={() => void keep(forget)}>
            Forget it
          </Button>
        )}
      </div>
    </form>
  );
}
