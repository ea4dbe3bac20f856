/** What is allowed from now on without asking, in Settings: each call with its devices, and the way to take it back. */
import { useDoing } from "../../app/actions/Actions.tsx";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import { nameOfDevice } from "../../model/fleet/fleet.ts";
import type { Standing } from "../../model/types.ts";
import { age, author } from "../../model/words/words.ts";
import { Button } from "../../ui/parts.tsx";

export function StandingCard() {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const fleet = useFleet();
  const now = useNow(10_000);
  const allowed = [...fleet.kind<Standing>("standing").values()].sort((one, other) => other.at_ms - one.at_ms);
  const takeBack = async (item: Standing) => {
    try {
      await hub.revokeStanding(item.id);
      say(`${item.tool} asks again`);
    } catch (error) {
      report(error);
    }
  };
  return (
    <section className="card">
      <header>
        <h2>Allowed from now on</h2>
      </header>
      {allowed.map((item) => (
        <div key={item.id} className="item">
          <span />
          <code className="mono cut" title={`${item.tool} ${item.args ?? "{}"}`}>
            {item.tool} {item.args ?? "{}"}
          </code>
          <Button asks="approver" aria-label={`Take back ${item.tool}`} onClick={() => void takeBack(item)}>
            Take back
          </Button>
          <span className="sub small">
            On {(item.devices ?? []).map((device) => nameOfDevice(fleet, device)).join(", ")}, by {author(item.by)}{" "}
            {age(item.at_ms, now)}
          </span>
        </div>
      ))}
      {allowed.length === 0 && (
        <p className="item">
          <span />
          <span className="sub small">Nothing. “Always allow” on an approval puts its calls here.</span>
        </p>
      )}
    </section>
  );
}
