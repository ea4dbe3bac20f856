/** Small parts without data access: pills, codes, chips, bars, buttons, tabs, a line to copy, an empty state, a problem. */
import {
  type ButtonHTMLAttributes,
  type InputHTMLAttributes,
  type KeyboardEvent,
  type ReactNode,
  useId,
  useRef,
  useState,
} from "react";
import type { QrCode as Drawing } from "../model/types.ts";
import { typed } from "../model/words/commands.ts";
import type { Count, Shown } from "../model/words/presentation.ts";
import { type Asks, useReason, useWhyNot } from "./away.tsx";
import { Glyph } from "./Glyph.tsx";
import { Icon, type IconName } from "./Icon.tsx";
import { pressedKey } from "./pressedKey.ts";
import { Said } from "./Said.tsx";

export function StatePill({
  shown,
  children,
}: {
  shown: Pick<Shown, "word" | "glyph" | "tone">;
  children?: ReactNode;
}) {
  return (
    <span className={`pill tone-${shown.tone}`}>
      <Glyph name={shown.glyph} />
      <span className="cut">{children ?? shown.word}</span>
    </span>
  );
}

export function DeviceChip({ tag, name, toned }: { tag: string; name: string; toned?: boolean }) {
  return (
    <span className={toned ? "chip toned tone-amber" : "chip"}>
      {tag && <b>{tag}</b>}
      <span className="cut">{name}</span>
    </span>
  );
}

const AHEAD = new Set(["ring", "chevrons", "square"]);

/** A bar of states; the sentence beside it says the same, so it is hidden from screen readers. */
export function StateBar({ counts, className = "" }: { counts: Count[]; className?: string }) {
  return (
    <span className={`bar ${className}`} aria-hidden="true">
      {counts.map(({ shown, count }) => (
        <i
          key={`${shown.glyph} ${shown.word}`}
          className={`tone-${shown.tone} ${shown.stuck ? "stuck" : ""} ${AHEAD.has(shown.glyph) ? "ahead" : ""} ${shown.glyph === "dotted_ring" ? "soon" : ""}`}
          style={{ flex: count }}
          title={`${count} ${shown.word}`}
        />
      ))}
    </span>
  );
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon?: IconName;
  kind?: "primary" | "quiet" | "bad";
  large?: boolean;
  /** A reason makes the button unusable but still reachable, so that the reason can be read. */
  why?: string | null;
  /** The press asks something of the hub: unusable while the hub is away, or for a role that may not. */
  asks?: Asks;
}

export function Button({ icon, kind, large, why: own, asks, children, className = "", onClick, ...rest }: ButtonProps) {
  const whyNot = useWhyNot(asks ?? false);
  const why = own || whyNot;
  const blocked = Boolean(why);
  const { bubble, onPress, onFocus, onBlur } = useReason(why);
  return (
    <>
      <button
        type="button"
        className={`btn ${kind ?? ""} ${large ? "large" : ""} ${children ? "" : "square"} ${className}`}
        aria-disabled={blocked || undefined}
        onClick={blocked ? onPress : onClick}
        onFocus={blocked ? onFocus : undefined}
        onBlur={onBlur}
        {...rest}
        // Why it is not possible counts more than the words on what it does.
        title={why ?? rest.title}
      >
        {icon && <Icon name={icon} />}
        {children}
      </button>
      {bubble}
    </>
  );
}

export interface Choice<T extends string> {
  value: T;
  label: ReactNode;
  icon?: IconName;
  hidden?: boolean;
}

interface TabsProps<T extends string> {
  label: string;
  value: T;
  choices: Choice<T>[];
  onChange: (value: T) => void;
  look?: "tabs" | "seg";
  controls?: string;
}

/** A row of tabs: one tab stop, arrows move. */
export function Tabs<T extends string>({ label, value, choices, onChange, look = "tabs", controls }: TabsProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const shown = choices.filter((choice) => !choice.hidden);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = pressedKey(event) === "ArrowRight" ? 1 : pressedKey(event) === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const index = (shown.findIndex((choice) => choice.value === value) + step + shown.length) % shown.length;
    const next = shown[index];
    if (!next) return;
    onChange(next.value);
    box.current?.querySelectorAll<HTMLElement>('[role="tab"]')[index]?.focus();
  };
  return (
    <div className={look} role="tablist" aria-label={label} ref={box} onKeyDown={onKeyDown}>
      {shown.map((choice) => (
        <button
          type="button"
          role="tab"
          key={choice.value}
          aria-selected={choice.value === value}
          aria-controls={choice.value === value ? controls : undefined}
          tabIndex={choice.value === value ? 0 : -1}
          onClick={() => onChange(choice.value)}
        >
          {choice.icon && <Icon name={choice.icon} />}
          {choice.label}
        </button>
      ))}
    </div>
  );
}

/**
 * A line to type somewhere else, with a button that copies it and says so. `whole`: it breaks nowhere, and scrolls where
 * it is too long; for a line that is read word by word.
 */
export function CopyLine({ line: named, label, whole = false }: { line: string; label: string; whole?: boolean }) {
  const line = typed(named);
  const [said, say] = useState("");
  const text = useRef<HTMLElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line);
      say("Copied");
    } catch {
      // Without a secure context there is no clipboard: select it, so that Ctrl-C does the rest.
      const range = document.createRange();
      if (text.current) range.selectNodeContents(text.current);
      getSelection()?.removeAllRanges();
      getSelection()?.addRange(range);
      say("Selected: press Ctrl-C");
    }
    setTimeout(() => say(""), 3000);
  };
  return (
    <div className={whole ? "code whole" : "code"}>
      <code ref={text} tabIndex={whole ? 0 : undefined}>
        {line}
      </code>
      <span className="small" role="status">
        {said}
      </span>
      <Button icon={said === "Copied" ? "check" : "copy"} kind="quiet" aria-label={`Copy ${label}`} onClick={copy} />
    </div>
  );
}

/** The rest of a long list: `and 12 more`, and all of it after a press. */
export function Rest({ count, children }: { count: number; children: () => ReactNode }) {
  const [open, setOpen] = useState(false);
  if (open) return <>{children()}</>;
  if (count <= 0) return null;
  return (
    <button type="button" className="link" aria-expanded={false} onClick={() => setOpen(true)}>
      and {count} more
    </button>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** A refusal as it is shown; the link's `Problem` is one. */
interface ShownProblem {
  reason: string;
  hint: string;
  requestId: string;
  faults: readonly { reason: string; place?: string; where?: string; hint?: string }[];
}

/** An error: what, the cause, the way out, each fault with its place, and an id to quote. */
export function ProblemNote({ problem }: { problem: ShownProblem }) {
  // A single fault is the problem itself: its sentence stands once.
  const only = problem.faults.length === 1 && problem.faults[0]?.reason === problem.reason ? problem.faults[0] : null;
  const hint = problem.hint || only?.hint;
  return (
    <section className="note tone-vermilion" role="alert">
      <Glyph name="cross" tone="vermilion" />
      <p className="strong">
        {only?.where && `${only.where}: `}
        <Said text={problem.reason} />
      </p>
      {problem.faults.length > 0 && !only && (
        <ul className="stack">
          {problem.faults.map((fault) => (
            <li key={`${fault.place}${fault.reason}`} className="small">
              {(fault.where || fault.place) && <b className="strong">{fault.where || fault.place}: </b>}
              <Said text={fault.reason} />{" "}
              {fault.hint && (
                <span className="dim">
                  <Said text={fault.hint} />
                </span>
              )}{" "}
              {fault.where && fault.place && <code className="mono dim">{fault.place}</code>}
            </li>
          ))}
        </ul>
      )}
      {hint && (
        <p className="small dim">
          <Said text={hint} />
        </p>
      )}
      {problem.requestId && <p className="small dim">Id {problem.requestId}</p>}
    </section>
  );
}

/** A labelled control; the label's text is visible and tied to it. */
export function Labelled({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className="stack">
      <label className="small dim" htmlFor={id}>
        {label}
      </label>
      {children(id)}
    </div>
  );
}

/**
 * A field whose document gets what its text means. The text stays as it is typed until the document has another value, so
 * that `1.` and `0.0` can be gone on with. A text for which `read` throws is kept, told as `wrong`, and changes nothing.
 */
export function useTypedText<T>(
  value: T,
  write: (value: T) => string,
  read: (text: string) => T,
  onValue: (value: T) => void,
) {
  const [held, setHeld] = useState(() => ({ text: write(value), own: value, wrong: "" }));
  const shown = JSON.stringify(held.own) === JSON.stringify(value) ? held : { text: write(value), wrong: "" };
  const type = (text: string) => {
    try {
      const own = read(text);
      setHeld({ text, own, wrong: "" });
      onValue(own);
    } catch (error) {
      setHeld({ text, own: value, wrong: error instanceof Error ? error.message : String(error) });
    }
  };
  return { text: shown.text, wrong: shown.wrong, type };
}

type TypedFieldProps<T> = Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "onChange"> & {
  value: T;
  write: (value: T) => string;
  /** Throws the reason, a sentence, for a text that means nothing. */
  read: (text: string) => T;
  onValue: (value: T) => void;
};

/** A field as `useTypedText` has it, with the reason beside it why its text is not taken. */
export function TypedField<T>({ value, write, read, onValue, ...field }: TypedFieldProps<T>) {
  const { text, wrong, type } = useTypedText(value, write, read, onValue);
  const told = useId();
  return (
    <>
      <input
        {...field}
        aria-invalid={wrong ? true : undefined}
        aria-describedby={wrong ? told : undefined}
        value={text}
        onChange={(event) => type(event.target.value)}
      />
      {wrong && (
        <span id={told} className="small word tone-vermilion" role="alert">
          {wrong}
        </span>
      )}
    </>
  );
}

/**
 * The reference of a field that a press opens: it takes the focus as it is drawn, so that the button which leaves does
 * not send the focus elsewhere. One function for all fields: a new one would be called at each drawing.
 */
export const focusAtOnce = (field: HTMLElement | null): void => field?.focus();

/** A QR code that the hub drew: dark on white in every theme, because cameras need it so. */
export function QrCode({ shape, label }: { shape: Drawing; label: string }) {
  return (
    <svg className="qr" viewBox={`0 0 ${shape.size} ${shape.size}`} role="img" aria-label={label}>
      <title>{label}</title>
      <rect width={shape.size} height={shape.size} fill="#fff" />
      <path d={shape.path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
