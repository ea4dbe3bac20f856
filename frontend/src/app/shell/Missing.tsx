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

/** A thing that the hub does not have: why that may be, and the way to all of its kind. */
export function Missing({ title, why, all }: { title: string; why: string; all: { path: string; words: string } }) {
  return (
    <section className="card">
      <Empty title={title}>
        <p>
          {why} See{" "}
          <Link className="link" href={all.path}>
            {all.words}
          </Link>
          .
        </p>
      </Empty>
    </section>
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
        {waits ? (
          <section className="card">
            <Empty title={link.state === "offline" ? "The hub does not answer." : "Reading the constellation."}>
              {link.state === "offline" && <p>It is shown as soon as the hub is back. {link.reason}</p>}
            </Empty>
          </section>
        ) : (
          <Missing
            title={unknown ? `The hub knows no constellation ${id}.` : "The hub no longer has this constellation."}
            why={unknown ? "It may have been removed, or the address is cut." : `${model.absent}.`}
            all={{ path: "/constellations", words: "all constellations" }}
          />
        )}
      </div>
    </Shell>
  );
}
