/**
 * A part of the page whose program is read when it is first drawn. A failed read is said in the part's own place, so that
 * what stands beside it keeps its text, and is tried again by a press. `React.lazy` keeps a failure for good.
 */
import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { Modal } from "../../ui/Modal.tsx";
import { Button } from "../../ui/parts.tsx";

/**
 * Why a part is not there: the hub is away, a file was lost on the way, it was lost again (a browser gives up a file for
 * as long as the page stands), or the hub has another build by now, which does not have the files of this one.
 */
type Cause = "away" | "lost" | "lost again" | "upgraded";

const WORDS: Record<Cause, string> = {
  away: "The hub does not answer. The text that you typed here stays; try again once it is back.",
  lost: "A file of it was lost on the way. The text that you typed here stays; try again.",
  "lost again":
    "A file of it does not arrive, and this page cannot ask for it any more. Copy the text that you typed here and need, then reload the page.",
  upgraded:
    "Starloom was upgraded while this page was open. Copy the text that you typed here and need, then reload the page.",
};

interface Lazy {
  /** Stands there until the part is read. */
  waiting?: ReactNode;
}

/**
 * The component that `load` brings, named `part` in sentences. `frame` is drawn around the note of a failure where the
 * part would be the whole page or a dialog.
 */
export function lazily<P extends object, M>(
  part: string,
  load: () => Promise<M>,
  pick: (module: M) => ComponentType<P>,
  frame: (note: ReactNode, props: P) => ReactNode = (note) => note,
) {
  let Part: ComponentType<P> | null = null;
  let failures = 0;
  return function Lazily({ waiting = null, ...props }: P & Lazy) {
    const [turn, setTurn] = useState(0);
    const [cause, setCause] = useState<Cause | null>(null);
    const [, draw] = useState(false);
    // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` changes when a person tries again.
    useEffect(() => {
      if (Part) return;
      let wanted = true;
      const read = async () => {
        try {
          Part = pick(await loadOnce(load, failures));
          if (wanted) draw(true);
        } catch {
          failures += 1;
          const found = await causeNow();
          if (wanted) setCause(found === "lost" && failures > 1 ? "lost again" : found);
        }
      };
      void read();
      return () => {
        wanted = false;
      };
    }, [turn]);
    if (Part) return <Part {...(props as P)} />;
    if (!cause) return waiting;
    const again = () => {
      setCause(null);
      setTurn((held) => held + 1);
    };
    return frame(
      <section className="note tone-amber" role="alert">
        <p className="strong">{part} could not be loaded.</p>
        <p className="dim">{WORDS[cause]}</p>
        <p className="row wrap">
          {cause !== "upgraded" && <Button onClick={again}>Try again</Button>}
          {(cause === "upgraded" || cause === "lost again") && (
            <Button onClick={() => location.reload()}>Reload the page</Button>
          )}
        </p>
      </section>,
      props as P,
    );
  };
}

/** The frame of a part that is a dialog. */
export function inDialog(note: ReactNode, { onClose }: { onClose: () => void }) {
  return (
    <Modal label="Not loaded" onClose={onClose}>
      <div className="body">{note}</div>
    </Modal>
  );
}

/** Style sheets that were lost on the way: the built program asks for each of them once. */
const lostStyles = new Set<string>();

/** A browser keeps the failure of an address, too: after one the file is asked for by another address. */
async function loadOnce<M>(load: () => Promise<M>, failures: number): Promise<M> {
  try {
    await Promise.all([...lostStyles].map((address) => style(address, failures)));
    return await load();
  } catch (error) {
    const [address] = /\S+\.(?:js|css)\b/.exec(String(error)) ?? [];
    if (address?.endsWith(".css")) lostStyles.add(address);
    if (!address?.endsWith(".js") || failures === 0) throw error;
    return (await import(/* @vite-ignore */ `${address}?again=${failures}`)) as M;
  }
}

function style(address: string, failures: number): Promise<void> {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = `${address}?again=${failures}`;
  return new Promise((done, fail) => {
    link.onload = () => {
      lostStyles.delete(address);
      done();
    };
    link.onerror = () => {
      link.remove();
      fail(new Error(`lost ${address}`));
    };
    document.head.append(link);
  });
}

/** The hub lists the files of its build; without the program of this page among them it is another one. */
async function causeNow(): Promise<Cause> {
  try {
    const answer = await fetch("/shell.json", { cache: "no-cache" });
    if (!answer.ok) return "away";
    const { files } = (await answer.json()) as { files: string[] };
    const own = [...document.scripts].find((one) => one.type === "module")?.src;
    return !own || files.includes(new URL(own).pathname) ? "lost" : "upgraded";
  } catch {
    return "away";
  }
}
