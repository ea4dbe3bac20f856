/** How far a saved recipe is trusted: its trial, its runs, and why the hub went back to an earlier version. */
import { Link } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { useWorkspace } from "../../app/workspace/context.ts";
import type { RecipeRow } from "../../model/types.ts";
import { msOf } from "../../model/words/times.ts";
import { author, plural } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button } from "../../ui/parts.tsx";
import { isByAssistant } from "./gallery.ts";

type Trust = NonNullable<RecipeRow["trust"]>;

/** The counts in words; empty for a recipe that never ran. */
export function runsWords({ clean, failed, last_clean_at: at }: Trust["runs"]): string {
  const counted = [clean && plural(clean, "clean run"), failed && `${failed} failed`].filter(Boolean).join(", ");
  return counted && at ? `${counted}, the last clean one on ${new Date(msOf(at)).toLocaleString("en-GB")}` : counted;
}

export function TrustCard(props: { name: string; trust: Trust; onDone: () => void }) {
  const { name, trust, onDone } = props;
  const words = runsWords(trust.runs);
  const byAssistant = isByAssistant({ trust });
  if (!words && !trust.trial && !trust.source && !trust.went_back && !byAssistant) return null;
  return (
    <section className="card" aria-label="Runs">
      <header>
        <h2>Runs</h2>
      </header>
      <div className="under flat">
        {byAssistant && (
          <p>
            <b className="strong">Saved by the {author(trust.author)}:</b> no person has saved it since. Running it asks
            what a plan of the assistant would ask.
          </p>
        )}
        {trust.trial && (
          <p>
            <b className="strong">On trial:</b> {trust.in_a_row} of {trust.needed} clean runs in a row. Until then its
            words show the plan and when it last ran, and run it when its keeper launches that.
          </p>
        )}
        <p>{words || "It has not run yet."}</p>
        {trust.source && (
          <p className="small dim">
            Kept from{" "}
            <Link className="link" href={`/constellations/${trust.source}`}>
              {trust.source}
            </Link>
            .
          </p>
        )}
        {trust.went_back && (
          <WentBack
            name={name}
            back={{ because: trust.went_back, from: trust.back_from, unread: trust.unread }}
            onDone={onDone}
          />
        )}
      </div>
    </section>
  );
}

/** The reason for an earlier version, with the way to take that back or to leave it so. */
export function WentBack(props: {
  name: string;
  back: { because: string; from: number; unread: boolean };
  onDone?: () => void;
}) {
  const { name, back, onDone } = props;
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const undo = async () => {
    try {
      const [old, now] = await Promise.all([hub.recipe(name, undefined, back.from), hub.recipe(name)]);
      const made = await hub.saveRecipe(old.text, now.version);
      say(`Version ${back.from} is back as version ${made.version}`);
    } catch (error) {
      report(error);
    } finally {
      onDone?.();
    }
  };
  const seen = async () => {
    try {
      await hub.recipeSeen(name);
    } catch (error) {
      report(error);
    } finally {
      onDone?.();
    }
  };
  return (
    <div className="row wrap">
      <Glyph name="hand" tone="violet" />
      <span className="grow">It went back a version: {back.because}.</span>
      <Button asks="run" onClick={() => void undo()}>
        Undo that
      </Button>
      {back.unread && (
        <Button asks="anyone" onClick={() => void seen()}>
          Leave it so
        </Button>
      )}
    </div>
  );
}
