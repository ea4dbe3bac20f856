/** Reading over REST inside a page: the last answer stays while a new one is fetched; errors are Problems. */
import { useCallback, useContext, useEffect, useRef, useState } from "react";
import { Problem } from "../../link/rest.ts";
import type { Topic } from "../../model/types.ts";
import { LostDigits } from "../../model/words/exact.ts";
import { WorkspaceContext } from "./context.ts";
import { knownList, noteList } from "./lastKnown.ts";

export interface Resource<T> {
  value: T | null;
  problem: Problem | null;
  loading: boolean;
  reload: () => void;
}

const NEVER: readonly Topic[] = [];

/** Reads when `key` changes, and again when the hub says that one of `topics` has. `read` may use the signal. */
export function useResource<T>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  topics: readonly Topic[] = NEVER,
  pauseMs?: number,
): Resource<T> {
  const [state, setState] = useState<Read<T>>(() => unread<T>(key));
  const [turn, setTurn] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const shownKey = useRef<string | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` changes when the list is to be read again.
  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    if (shownKey.current !== key) setState(unread<T>(key));
    shownKey.current = key;
    latest.current(abort.signal).then(
      (value) => {
        noteList(key, value);
        if (!abort.signal.aborted) setState({ of: key, value, problem: null, loading: false });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const problem = asProblem(error);
        setState((held) => ({ of: key, value: held.of === key ? held.value : null, problem, loading: false }));
      },
    );
    return () => abort.abort();
  }, [key, turn]);

  const reload = useCallback(() => setTurn((held) => held + 1), []);
  const workspace = useContext(WorkspaceContext);
  const named = topics.join(" ");
  useEffect(() => {
    if (!named) return;
    return workspace?.changes.on(named.split(" ") as Topic[], reload, pauseMs);
  }, [workspace, named, reload, pauseMs]);
  // What was read for another key is never shown for this one, not even until the effect has run.
  const { value, problem, loading } = key === null || state.of === key ? state : unread<T>(key);
  return { value, problem, loading, reload };
}

interface Read<T> {
  of: string | null;
  value: T | null;
  problem: Problem | null;
  loading: boolean;
}

const unread = <T>(key: string | null): Read<T> => ({
  of: key,
  value: known<T>(key),
  problem: null,
  loading: key !== null,
});

/** The list as it was kept for a reload without the hub; null where none was kept. */
const known = <T>(key: string | null): T | null => (key === null ? null : (knownList(key) as T | null));

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof LostDigits) {
    return new Problem(409, {
      code: "digits_lost",
      reason: error.message,
      hint: "The command line keeps them; docs/rows.md names the commands.",
    });
  }
  return new Problem(500, {
    code: "internal",
    reason: `The page has a fault: ${error instanceof Error ? error.message : String(error)}`,
    hint: "Reload the page; please report it if it comes again.",
  });
}
