/** The endpoints that go back and look back: forks, undoing, blame, the record of activity. */
import type { Rest } from "./rest.ts";

export interface Deed {
  pos: number;
  stream: string;
  seq: number;
  at: string;
  by: string;
  kind: string;
  category: string;
  about?: string;
  note?: string;
}

export interface ActivityQuery {
  person?: string;
  device?: string;
  kind?: string;
  q?: string;
  cursor?: string;
}

export interface BlameLine {
  version: number;
  author: string;
  trigger: string;
  reason: string;
  at: string;
}

export interface BlameItem {
  kind: "task" | "dependency";
  id: string;
  added: BlameLine | null;
  changed: BlameLine[];
}

export interface Verified {
  ok: boolean;
  commits: number;
  events: number;
  anchor: string;
  breaks: { pos: number; what: string }[];
}

const at = encodeURIComponent;
const path = (constellation: string) => `/constellations/${at(constellation)}`;

export const history = {
  activity: (rest: Rest, query: ActivityQuery, signal?: AbortSignal) => {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
    const text = search.toString();
    return rest.get<{ items: Deed[]; next: string | null }>(`/audit${text ? `?${text}` : ""}`, signal);
  },
  verify: (rest: Rest) => rest.get<Verified>("/audit/verify"),
  blame: (rest: Rest, constellation: string, task: string, signal?: AbortSignal) =>
    rest.get<{ items: BlameItem[] }>(`${path(constellation)}/blame?task=${at(task)}`, signal),
  fork: (
    rest: Rest,
    constellation: string,
    from: { from_version: number } | { from_task: string },
    confirm?: string[],
  ) => rest.create<{ id: string }>(`${path(constellation)}/fork`, confirm?.length ? { ...from, confirm } : from),
  undo: (rest: Rest, constellation: string, tasks: string[]) =>
    rest.create<{ undoing: string[]; cannot_be_undone: string[] }>(`${path(constellation)}/undo`, { tasks }),
  takeBack: (rest: Rest, constellation: string, version: number) =>
    rest.create<{ version: number }>(`${path(constellation)}/edits`, {
      base_version: version,
      operations: [{ undo: { version } }],
    }),
};
