/** Home for someone new: a phone, a server, words to try; and for everyone what is next on the clock. */

import { Link } from "wouter";
import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { Schedules } from "../../link/schedules.ts";
import type { DeviceView } from "../../model/fleet/fleet.ts";
import type { RecipeRow } from "../../model/types.ts";
import { readerTime } from "../../model/words/clock.ts";
import { UNKNOWN, whyNotBy } from "../../ui/away.tsx";
import { Icon } from "../../ui/Icon.tsx";

const PHRASES_MAX = 5;
const NEXT_MAX = 4;

/** Requests that can be typed as they stand: phrases of recipes without a slot to fill. */
export function phrasesOf(recipes: readonly RecipeRow[], most: number): string[] {
  return recipes
    .flatMap((recipe) => (recipe.phrases ?? []).slice(0, 1))
    .filter((phrase) => !phrase.includes("{"))
    .slice(0, most);
}

/** Shown until a device of one's own has joined: the sample's are none, nor is the hub's own computer. */
export function StartCard({ fleet, recipes }: { fleet: readonly DeviceView[]; recipes: readonly RecipeRow[] }) {
  const { session } = useWorkspace();
  const joined = fleet.some((view) => !view.device.demo && view.id !== session?.hub_device);
  // Each line of it begins something, which is not for a person who may only look.
  if (joined || whyNotBy(session ?? UNKNOWN, "start")) return null;
  return (
    <section className="card" aria-label="Start here">
      <header>
        <h2>Start here</h2>
      </header>
      <Link className="item" href="/devices?add=1&way=phone">
        <Icon name="phone" />
        <b className="strong">Add a phone</b>
        <span className="sub">Its browser is enough: scan a code, allow it here.</span>
      </Link>
      <Link className="item" href="/devices?add=1&way=line">
        <Icon name="server" />
        <b className="strong">Add a server or laptop</b>
        <span className="sub">One line in its terminal, or by your own ssh.</span>
      </Link>
      {phrasesOf(recipes, PHRASES_MAX).map((phrase) => (
        <Link key={phrase} className="item" href={`/new?q=${encodeURIComponent(phrase)}`}>
          <Icon name="edit" />
          <span className="strong">{phrase}</span>
        </Link>
      ))}
      <Link className="item" href="/recipes">
        <Icon name="recipe" />
        <span className="link">Everything that can be asked for</span>
      </Link>
    </section>
  );
}

export function NextOnTheClock() {
  const { hub } = useWorkspace();
  const list = useResource("schedules", (signal) => new Schedules(hub.rest).list(signal), ["schedules"]);
  const next = (list.value?.items ?? [])
    .flatMap((row) => (row.state === "active" && row.next[0] ? [{ row, at: row.next[0] }] : []))
    .sort((one, other) => Date.parse(one.at) - Date.parse(other.at))
    .slice(0, NEXT_MAX);
  if (next.length === 0) return null;
  return (
    <section className="card" aria-label="Scheduled next">
      <header>
        <h2>Scheduled next</h2>
        <Link className="link small end" href="/schedules">
          Schedules
        </Link>
      </header>
      {next.map(({ row, at }) => (
        <Link key={row.id} className="deviceline" href="/schedules">
          <Icon name="clock" />
          <b className="strong cut">{row.name}</b>
          <FiringText at={at} zone={row.zone} />
        </Link>
      ))}
    </section>
  );
}

function FiringText({ at, zone }: { at: string; zone: string }) {
  const { text, there } = readerTime(at, zone);
  return (
    <span className="firing small dim num nowrap end">
      <span>{text}</span>
      {there && <span>{there}</span>}
    </span>
  );
}
