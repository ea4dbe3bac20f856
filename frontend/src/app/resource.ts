/** Reading over REST inside a page: the last answer stays while a new one is fetched; errors are Problems. */
import { useCallback, useEffect, useRef, useState } from "react";
import { Problem } from "../link/rest.ts";
import { knownList, noteList } from "./lastKnown.ts";

export interface Resource<T> {
  value: T | null;
  problem: Problem | null;
  loading: boolean;
  reload: () => void;
}

/** Reads when `key` changes, and again every `everyMs` while the page is seen. `read` may use the signal. */
export function useResource<T>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  everyMs = 0,
): Resource<T> {
  const [state, setState] = useState<{ value: T | null; problem: Problem | null; loading: boolean }>({
    value: known<T>(key),
    problem: null,
    loading: key !== null,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const shownKey = useRef<string | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` stands for a wish to read again.
  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    if (shownKey.current !== key) setState({ value: known<T>(key), problem: null, loading: true });
    shownKey.current = key;
    latest.current(abort.signal).then(
      (value) => {
        noteList(key, value);
        setState({ value, problem: null, loading: false });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const problem = asProblem(error);
        setState((held) => ({ value: held.value, problem, loading: false }));
      },
    );
    return () => abort.abort();
  }, [key, turn]);

  useEffect(() => {
    if (!everyMs) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTurn((held) => held + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  const reload = useCallback(() => setTurn((held) => held + 1), []);
  return { ...state, reload };
}

/** What a reload without the hub still knows of a list. */
const known = <T>(key: string | null): T | null => (key === null ? null : (knownList(key) as T | null));

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(500, {
    code: "internal",
    reason: `The page has a fault: ${error instanceof Error ? error.message : String(error)}`,
    hint: "Reload the page; please report it if it comes again.",
  });
}
