/** The disk of the hub in Settings: how much of it is free, read when the page is opened or asked again. */
import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { bytes, timeOfDay } from "../../model/words/words.ts";
import { Button, ProblemNote } from "../../ui/parts.tsx";

export function DiskCard() {
  const { hub } = useWorkspace();
  const disk = useResource("disk", async (signal) => ({ ...(await hub.disk(signal)), readMs: Date.now() }));
  const found = disk.value;
  const known = found !== null && found.free_bytes !== null && found.whole_bytes !== null;
  return (
    <section className="card" aria-label="Disk of the hub">
      <header>
        <h2>Disk of the hub</h2>
      </header>
      {disk.problem && <ProblemNote problem={disk.problem} />}
      {found && (
        <div className="setting">
          <div>
            <div>
              {known
                ? `${bytes(found.free_bytes ?? 0)} of ${bytes(found.whole_bytes ?? 0)} are free`
                : `Its free space cannot be read: ${found.fault}`}
            </div>
            <div className="dim small">
              History, results and logs lie in {found.folder}.{" "}
              <span key={found.readMs}>Read at {timeOfDay(found.readMs)}</span>
            </div>
          </div>
          <Button asks="anyone" aria-busy={disk.loading || undefined} onClick={disk.reload}>
            Look again
          </Button>
        </div>
      )}
    </section>
  );
}
