/** Two dialogs: which tool a row uses, and which field of an earlier row a value comes from. */
import { useId, useMemo, useState } from "react";
import { able, type Carrier, GROUP_ORDER, matchingTools, type ToolView } from "../../../model/fleet/tools.ts";
import { type Branch, branches, type Sample } from "../../../model/rows/sample.ts";
import { timeOfDay } from "../../../model/words/words.ts";
import { rem } from "../../../styles/textSize.ts";
import { Icon } from "../../../ui/Icon.tsx";
import { Modal } from "../../../ui/Modal.tsx";
import { Button } from "../../../ui/parts.tsx";
import { pressedKey } from "../../../ui/pressedKey.ts";

interface ToolPickerProps {
  tools: ReadonlyMap<string, ToolView>;
  title: string;
  /** Which tools can take the value that the row is to be about. */
  takes?: (tool: ToolView) => boolean;
  onPick: (what: { tool: string } | { person: string }) => void;
  onClose: () => void;
}

export function ToolPicker({ tools, title, takes, onPick, onClose }: ToolPickerProps) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const shown = useMemo(() => {
    const all = matchingTools(tools.values(), typed, takes);
    // Without words the groups order the list, in each of them what only looks is first; else the best fit does.
    const changes = (tool: ToolView) => Number(tool.effects.some((effect) => effect !== "read"));
    const place = (tool: ToolView) => 2 * GROUP_ORDER.indexOf(tool.group) + changes(tool);
    return typed || takes ? all : all.toSorted((a, b) => place(a) - place(b));
  }, [tools, typed, takes]);
  const count = shown.length + 1;
  const pick = (index: number) => {
    const tool = shown[index];
    onPick(tool ? { tool: tool.name } : { person: typed.trim() || "Is it all right to go on?" });
  };
  return (
    <Modal label={title} className="picker" onClose={onClose}>
      <input
        role="combobox"
        aria-label={title}
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={`${listId}-${at}`}
        placeholder="What should it do? For example: find files"
        // biome-ignore lint/a11y/noAutofocus: the dialog was opened to type here.
        autoFocus
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const key = pressedKey(event);
          const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
          if (step) {
            event.preventDefault();
            const next = (at + step + count) % count;
            setAt(next);
            document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: "nearest" });
          } else if (key === "Enter") {
            event.preventDefault();
            pick(at);
          }
        }}
      />
      <div role="listbox" id={listId} aria-label="Tools">
        {shown.map((tool, index) => (
          <ToolOption
            key={tool.name}
            tool={tool}
            id={`${listId}-${index}`}
            head={!typed && !takes && shown[index - 1]?.group !== tool.group ? tool.group : ""}
            selected={index === at}
            onPick={() => pick(index)}
          />
        ))}
        {tools.size === 0 && <p className="nothing dim">No device offers a tool yet: add a device in Fleet first.</p>}
        <div
          role="option"
          tabIndex={-1}
          id={`${listId}-${shown.length}`}
          aria-selected={at === shown.length}
          className="tooloption"
          onClick={() => pick(shown.length)}
          onKeyDown={(event) => pressedKey(event) === "Enter" && pick(shown.length)}
        >
          <b className="strong">Ask a person</b>
          <span className="small dim">
            {typed && shown.length === 0 ? typed : "waits for an answer, here or on a phone"}
          </span>
        </div>
      </div>
    </Modal>
  );
}

function ToolOption(props: { tool: ToolView; id: string; head: string; selected: boolean; onPick: () => void }) {
  const { tool, id, head, selected, onPick } = props;
  const can = able(tool);
  const lacking = tool.carriers.map((carrier) => `${carrier.name} ${carrier.lacks}`);
  return (
    <>
      {head && <p className="grouphead small">{head}</p>}
      <div
        role="option"
        tabIndex={-1}
        id={id}
        aria-selected={selected}
        className={`tooloption ${can.length ? "" : "lacking"}`}
        onClick={onPick}
        onKeyDown={(event) => pressedKey(event) === "Enter" && onPick()}
      >
        <b className="strong">{tool.title}</b>
        <span className="small mono dim">{tool.name}</span>
        <span className="small dim carriers">{can.length ? carriersOf(can) : lacking.slice(0, 2).join("; ")}</span>
      </div>
    </>
  );
}

/** As many names of devices as a line has room for. */
const NAMED_MOST = 3;

function carriersOf(can: readonly Carrier[]): string {
  const names = can.slice(0, NAMED_MOST).map((carrier) => carrier.name);
  const more = can.length - names.length;
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ");
}

export interface Earlier {
  id: string;
  at: number;
  title: string;
  sample: Sample | null;
  /** Why it cannot be tried; empty when it can. */
  why: string;
}

/** The nearest earlier rows; a further one is named in the text. */
const OFFERED_MOST = 12;

interface UsePickerProps {
  label: string;
  earlier: readonly Earlier[];
  chosen: { from: string; output: string } | null;
  trying: string | null;
  onTry: (id: string) => void;
  onPick: (use: { from: string; output: string }) => void;
  /** Takes a value of each item of a list; null where the row cannot run for each. */
  onPickItem: ((item: { from: string; list: string; inner: string }) => void) | null;
  /** The list for whose items the row runs already; another one cannot be used beside it. */
  each: { from: string; output: string } | null;
  onClose: () => void;
}

export function UsePicker(props: UsePickerProps) {
  const { label, earlier, chosen, trying, onTry, onPick, onPickItem, each, onClose } = props;
  return (
    <Modal label={`Where ${label} comes from`} className="picker uses" onClose={onClose}>
      <header className="row">
        <h2 className="head grow">Where {label} comes from</h2>
        <Button kind="quiet" icon="close" aria-label="Close" onClick={onClose} />
      </header>
      {earlier.length === 0 && <p className="nothing dim">There is no earlier row to use.</p>}
      {earlier
        .slice(-OFFERED_MOST)
        .toReversed()
        .map((row) => (
          <section key={row.id} aria-label={`Row ${row.at + 1}, ${row.id}`}>
            <div className="row">
              <h3 className="strong grow">
                {row.at + 1} {row.title} <span className="small dim">{row.id}</span>
              </h3>
              {(!row.sample || row.sample.device || !row.why) && (
                <Button
                  asks="run"
                  icon={row.sample?.device ? "retry" : "play"}
                  why={trying === row.id ? "It is being tried." : row.why || null}
                  onClick={() => onTry(row.id)}
                >
                  {tryWords(row.sample)}
                </Button>
              )}
            </div>
            {row.sample ? (
              <>
                <p className="small dim">{sampleWords(row.sample)}</p>
                <Tree
                  sample={row.sample}
                  chosen={chosen?.from === row.id ? chosen.output : null}
                  onPick={(branch) => onPick({ from: row.id, output: branch.pointer })}
                  onPickItem={
                    onPickItem &&
                    ((item) =>
                      (!each || (each.from === row.id && each.output === item.list)) &&
                      (() => onPickItem({ from: row.id, ...item })))
                  }
                />
                {!row.sample.device && <PointerByHand onPick={(output) => onPick({ from: row.id, output })} />}
              </>
            ) : (
              <PointerByHand onPick={(output) => onPick({ from: row.id, output })} />
            )}
          </section>
        ))}
    </Modal>
  );
}

function tryWords(sample: Sample | null): string {
  if (!sample) return "Try it to see its fields";
  return sample.device ? "Try again" : "Try it for real values";
}

export function sampleWords(sample: Sample): string {
  if (!sample.device) return "an example of what this tool gives";
  return `real, from ${sample.device}, ${timeOfDay(sample.atMs).slice(0, 5)}`;
}

interface TreeProps {
  sample: Sample;
  chosen: string | null;
  onPick: (branch: Branch) => void;
  /** Returns what takes a value of each item of a list, false where another list is in the way. */
  onPickItem: ((item: { list: string; inner: string }) => (() => void) | false) | null;
}

export function Tree(props: TreeProps) {
  const tree = useMemo(() => branches(props.sample.value), [props.sample]);
  return (
    <ul className="tree">
      {tree.map((branch) => (
        <li key={branch.pointer} style={{ paddingInlineStart: rem(branch.depth * 16) }}>
          {branch.inItem ? (
            <ItemBranch name={branch.name} onPick={(branch.item && props.onPickItem?.(branch.item)) || null} />
          ) : (
            <button
              type="button"
              className="ref"
              aria-pressed={props.chosen === branch.pointer}
              onClick={() => props.onPick(branch)}
            >
              {branch.name}
            </button>
          )}
          <span className="mono dim cut">{branch.words}</span>
        </li>
      ))}
    </ul>
  );
}

function ItemBranch({ name, onPick }: { name: string; onPick: (() => void) | null }) {
  const words = (
    <>
      <span className="faint">each</span> {name}
    </>
  );
  if (!onPick) return <span className="leaf small">{words}</span>;
  return (
    <button type="button" className="ref" onClick={onPick}>
      {words}
    </button>
  );
}

function PointerByHand({ onPick }: { onPick: (output: string) => void }) {
  const [output, setOutput] = useState("");
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        onPick(output && !output.startsWith("/") ? `/${output}` : output);
      }}
    >
      <label className="field grow">
        <span className="nowrap">or its field</span>
        <input
          placeholder="/files, or nothing for everything"
          value={output}
          onChange={(event) => setOutput(event.target.value)}
        />
      </label>
      <Button type="submit">
        <Icon name="check" /> Use
      </Button>
    </form>
  );
}
