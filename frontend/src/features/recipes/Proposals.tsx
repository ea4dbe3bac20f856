/** *Keep this as a recipe?* for plans of this person that ended clean: kept by the dialog, or dismissed for good. */
import { useState } from "react";
import { Link } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { useWorkspace } from "../../app/workspace/context.ts";
import { inDialog, lazily } from "../../app/workspace/lazily.tsx";
import { type Resource, useResource } from "../../app/workspace/resource.ts";
import { draftOf, type Fields } from "../../model/rows/document.ts";
import type { ProposalList, ProposalRow } from "../../model/types.ts";
import { Icon } from "../../ui/Icon.tsx";
import { Button } from "../../ui/parts.tsx";
import { sentenceOf } from "../request/build/proposal.ts";

const SaveRecipe = lazily(
  "The dialog that saves a recipe",
  () => import("../request/build/SaveRecipe.tsx"),
  (module) => module.SaveRecipe,
  inDialog,
);

/** So many stand on Home; the others are in the gallery. */
const ON_HOME_MAX = 2;
/** So many stand in the gallery once its row is opened, until the person asks for all. */
const IN_GALLERY_MAX = 3;

type Found = Resource<ProposalList>;

function useProposals(wanted: boolean): Found {
  const { hub } = useWorkspace();
  return useResource(wanted ? "recipe-proposals" : null, (signal) => hub.proposals(signal), ["constellations"]);
}

/** On Home, the newest plans that may be kept, and the way to the others. */
export function ProposalsCard() {
  const found = useProposals(true);
  const items = found.value?.items ?? [];
  if (items.length === 0) return null;
  return (
    <section className="card" aria-label="Keep as recipes">
      <header>
        <h2>Keep as recipes</h2>
        <span className="dim">{items.length}</span>
      </header>
      <ProposalLines items={items.slice(0, ON_HOME_MAX)} reload={found.reload} />
      {items.length > ON_HOME_MAX && (
        <Link className="deviceline link" href="/recipes">
          and {items.length - ON_HOME_MAX} more in Recipes
        </Link>
      )}
    </section>
  );
}

/** Above the gallery: one row with their count, which opens. The gallery keeps its place until the person asks. */
export function ProposalsRow() {
  const found = useProposals(true);
  const [open, setOpen] = useState(false);
  const [all, setAll] = useState(false);
  const items = found.value?.items ?? [];
  if (items.length === 0) return null;
  const shown = all ? items : items.slice(0, IN_GALLERY_MAX);
  return (
    <section className="card" aria-label="Keep as recipes">
      <header>
        <h2>Keep as recipes</h2>
        <span className="dim grow">
          {items.length}
          <span className="only-wide"> {items.length === 1 ? "request" : "requests"} that ended as planned</span>
        </span>
        <Button aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide" : "Show"}
        </Button>
      </header>
      {open && (
        <>
          <ProposalLines items={shown} reload={found.reload} />
          {shown.length < items.length && (
            <button type="button" className="deviceline link" onClick={() => setAll(true)}>
              Show all {items.length}
            </button>
          )}
        </>
      )}
    </section>
  );
}

function ProposalLines({ items, reload }: { items: readonly ProposalRow[]; reload: () => void }) {
  return items.map((one) => (
    <div key={one.id} className="item">
      <Icon name="recipe" />
      <ProposalLine proposal={one} reload={reload} named />
    </div>
  ));
}

/** In the band of an answer: the question about this constellation's own plan. */
export function KeepThis({ constellation }: { constellation: string }) {
  const found = useProposals(true);
  const own = found.value?.items.find((one) => one.constellation === constellation);
  const left = found.value?.left_out.find((one) => one.constellation === constellation);
  if (left) {
    return (
      <p className="keepthis small dim">
        Not proposed as a recipe: {left.because}.{" "}
        <Link className="link" href={`/new?way=build&from=${constellation}`}>
          Its plan in rows
        </Link>{" "}
        can be saved as one.
      </p>
    );
  }
  if (!own) return null;
  return (
    <section className="card keepthis" aria-label="Keep this as a recipe">
      <div className="item">
        <Icon name="recipe" />
        <ProposalLine proposal={own} reload={found.reload} />
      </div>
    </section>
  );
}

function ProposalLine(props: { proposal: ProposalRow; reload: () => void; named?: boolean }) {
  const { proposal, reload, named } = props;
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [keeping, setKeeping] = useState(false);
  const dismiss = async () => {
    try {
      await hub.dismissProposal(proposal.id);
      say("It is not proposed again");
    } catch (error) {
      report(error);
    } finally {
      reload();
    }
  };
  return (
    <>
      <span className="row wrap grow">
        <b className="strong">Keep this as a recipe?</b>
        <span className="sentence">
          {sentenceOf(proposal).map((part) =>
            part.slot ? (
              <b key={part.key} className="strong" title={`{${part.slot}} in the phrase`}>
                {part.text}
              </b>
            ) : (
              <span key={part.key}>{part.text}</span>
            ),
          )}
        </span>
        {named && (
          <Link className="link small" href={`/constellations/${proposal.constellation}`}>
            its run
          </Link>
        )}
      </span>
      <span className="row">
        <Button asks="run" kind="primary" onClick={() => setKeeping(true)}>
          Keep it
        </Button>
        <Button asks="run" onClick={() => void dismiss()}>
          Not this one
        </Button>
      </span>
      {keeping && (
        <SaveRecipe
          draft={draftOf(proposal.document as Fields)}
          effects={proposal.effects}
          proposal={proposal.id}
          answers={proposal.answers}
          onClose={() => setKeeping(false)}
        />
      )}
    </>
  );
}
