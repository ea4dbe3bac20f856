/** What is not there, said plainly, with a way on. */
import { Link } from "wouter";
import { Empty } from "../../ui/parts.tsx";
import { useLink, useStream } from "../workspace/context.ts";
import { Shell } from "./Shell.tsx";

export function MissingPage() {
  return (
    <Shell title="Not found">
      <div className="page">
        <section className="card">
          <Empty title="There is no such page.">
            <p>
              Search with Ctrl-K, or go{" "}
              <Link className="link" href="/">
                home
              </Link>
              .
            </p>
          </Empty>
        </section>
      </div>
    </Shell>
  );
}

/** Either its stream is still on its way, or the hub does not know it. */
export function MissingConstellation({ id }: { id: string }) {
  const model = useStream(id);
  const link = useLink();
  const waits = !model.absent;
  const { unknown } = model;
  return (
    <Shell title={waits ? "Constellation" : "Not found"} crumb={{ path: "/constellations", label: "Constellations" }}>
      <div className="page">
        <section className="card">
          {waits ? (
            <Empty title={link.state === "offline" ? "The hub does not answer." : "Reading the constellation."}>
              {link.state === "offline" && <p>It is shown as soon as the hub is back. {link.reason}</p>}
            </Empty>
          ) : (
            <Empty
              title={unknown ? `The hub knows no constellation ${id}.` : "The hub no longer has this constellation."}
            >
              <p>
                {unknown ? "It may have been removed, or the address is cut." : `${model.absent}.`} See{" "}
                <Link className="link" href="/constellations">
                  all constellations
                </Link>
                .
              </p>
            </Empty>
          )}
        </section>
      </div>
    </Shell>
  );
}
