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
/** A reading that takes longer may hang on a line that is cut: the next one does not wait for it. */
const READING_MOST_MS = 60_000;

/**
 * Reads when `key` changes, and again when the hub says that one of `topics` has. `read` may use the signal.
 *
 * A reading ends before the next one of its key begins, and one is enough for all changes meanwhile: a list that changes
 * faster than the line brings it would otherwise never come.
 */
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
  const running = useRef(false);
  const missed = useRef(false);

  const reload = useCallback(() => {
    if (running.current) missed.current = true;
    else setTurn((held) => held + 1);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` changes when the list is to be read again.
  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    if (shownKey.current !== key) setState(unread<T>(key));
    shownKey.current = key;
    running.current = true;
    missed.current = false;
    const ended = () => {
      running.current = false;
      if (missed.current) reload();
    };
    const late = setTimeout(ended, READING_MOST_MS);
    const take = (next: (held: Read<T>) => Read<T>) => {
      if (abort.signal.aborted) return;
      clearTimeout(late);
      setState(next);
      ended();
    };
    latest.current(abort.signal).then(
      (value) => {
        noteList(key, value);
        take(() => ({ of: key, value, problem: null, loading: false }));
      },
      (error: unknown) => {
        const problem = asProblem(error);
        take((held) => ({ of: key, value: held.of === key ? held.value : null, problem, loading: false }));
      },
    );
    return () => {
      clearTimeout(late);
      running.current = false;
      abort.abort();
    };
  }, [key, turn, reload]);

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

interface Page<T> {
  items: T[];
  next?: string | null;
}

interface Pages<T> {
  items: T[];
  /** Whether anything was read. */
  read: boolean;
  problem: Problem | null;
  /** Reads one page more; null where there is none. */
  more: (() => void) | null;
  /** It is being read. */
  adding: boolean;
}

/**
 * The first pages of a list that grows at its beginning, newest first. All that is shown is read as one list: what comes
 * meanwhile moves nothing out of its middle, and no page is shown twice or below another search.
 */
export function usePages<T>(
  key: string | null,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  topics: readonly Topic[],
  pauseMs: number,
): Pages<T> {
  // Asked for of this key; another search begins with its first page.
  const asked = useRef({ of: key, pages: 1 });
  if (asked.current.of !== key) asked.current = { of: key, pages: 1 };
  const { value, problem, reload } = useResource(
    key,
    async (signal) => {
      const found = { items: [] as T[], next: null as string | null, pages: 0 };
      do {
        const page = await read(found.next ?? undefined, signal);
        found.items.push(...page.items);
        found.next = page.next ?? null;
        found.pages += 1;
      } while (found.next !== null && found.pages < asked.current.pages);
      return found;
    },
    topics,
    pauseMs,
  );
  const [, again] = useState(0);
  const adding = value !== null && problem === null && asked.current.pages > value.pages && value.next !== null;
  const more = () => {
    if (adding) return;
    asked.current.pages = (value?.pages ?? 1) + 1;
    again((held) => held + 1);
    reload();
  };
  return { items: value?.items ?? [], read: value !== null, problem, more: value?.next ? more : null, adding };
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
