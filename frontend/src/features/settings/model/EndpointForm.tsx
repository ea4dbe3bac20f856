/** The form around a model's endpoint: a test before it is kept, and one act at a time. Knows no role. */
import { type ReactNode, useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import type { ModelReply } from "../../../model/types.ts";
import { Button } from "../../../ui/parts.tsx";
import type { EndpointDraft } from "./EndpointFields.tsx";

interface EndpointFormProps {
  label: string;
  /** The answer to a test is shown as long as this draft is the one that was tested. */
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

export function EndpointForm({ label, draft, why, test, save, forget, onDone, children }: EndpointFormProps) {
  const { report } = useDoing();
  const [busy, setBusy] = useState<"" | "try" | "save">("");
  const [tried, setTried] = useState<{ draft: EndpointDraft; words: string } | null>(null);
  const act = async (what: "try" | "save", does: () => Promise<void>) => {
    setBusy(what);
    try {
      await does();
    } catch (error) {
      report(error);
    } finally {
      setBusy("");
    }
  };
  const keep = (does: () => Promise<void>) => act("save", () => does().then(onDone));
  const tryIt = () =>
    act("try", async () => {
      const said = await test();
      setTried({ draft, words: `It answered in ${said.seconds} s with ${said.tokens} tokens: ${said.reply}` });
    });
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
      {tried?.draft === draft && (
        <p className="small" role="status">
          {tried.words}
        </p>
      )}
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
