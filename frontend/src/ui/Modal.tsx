/**
 * The platform's own dialog: it traps the focus and closes on Escape and by the browser's Back, after a question where
 * something was typed; the browser asks before a reload. Giving the focus back is `app/focus.ts`.
 */
import { type MouseEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Glyph } from "./Glyph.tsx";
import { Button } from "./parts.tsx";
import { pressedKey } from "./pressedKey.ts";

interface ModalProps {
  label: string;
  className?: string;
  onClose: () => void;
  children: ReactNode;
}

/**
 * A button and the dialog that it opens, apart: the button may stand in a bar that another layout draws elsewhere, and
 * its dialog is drawn by the page, so that a turned phone or another zoom keeps what was typed.
 */
export interface Raised {
  button: ReactNode;
  dialog: ReactNode;
}

const FIELDS = ["input:not([type=hidden])", "select", "textarea"].map((kind) => `${kind}:not(:disabled)`).join(", ");

/** Words that find something are typed again in a moment; what is typed into another field may be the work of minutes. */
const SEARCH = "[role=combobox], [type=search]";

/**
 * With a pointer that needs no keyboard on the screen, work begins in the first field, not on the button of the head. A
 * field for which the dialog would scroll is not what it begins with.
 */
function beginIn(dialog: HTMLDialogElement): void {
  if (!matchMedia("(pointer: fine)").matches) return;
  const field = dialog.querySelector<HTMLElement>(FIELDS);
  const inSight = dialog.getBoundingClientRect().bottom;
  if (field && field.getBoundingClientRect().bottom <= inSight) field.focus();
}

/** The cover over the rest of the page is the dialog's own element, outside of its frame. */
function isBeside({ target, currentTarget, clientX, clientY }: MouseEvent): boolean {
  const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
  return target === currentTarget && (clientX < left || clientX > right || clientY < top || clientY > bottom);
}

/** The browser's history, where a browser lets a page hold a step back; elsewhere the page below goes back. */
const steps = (): EventTarget | undefined => (window as { navigation?: EventTarget }).navigation;

const isStepBack = (event: Event): boolean =>
  event.cancelable && (event as Event & { navigationType?: string }).navigationType === "traverse";

const focusFirst = (part: HTMLElement | null): void => part?.querySelector("button")?.focus();

export function Modal({ label, className, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // A text that is marked with the pointer may end beside the dialog; the browser calls that a click on it.
  const pressedBeside = useRef(false);
  const typed = useRef(false);
  /** The field that was left by Escape while something is typed. */
  const [asking, setAsking] = useState<{ from: Element | null } | null>(null);
  const leave = () => {
    if (asking) stay();
    else if (typed.current) setAsking({ from: document.activeElement });
    else onClose();
  };
  const leaving = useRef(leave);
  leaving.current = leave;
  const stay = () => {
    setAsking(null);
    if (asking?.from instanceof HTMLElement) asking.from.focus();
  };
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) {
      element.showModal();
      beginIn(element);
    }
    const stepBack = (event: Event) => {
      if (!isStepBack(event)) return;
      event.preventDefault();
      leaving.current();
    };
    const reload = (event: Event) => {
      if (typed.current) event.preventDefault();
    };
    steps()?.addEventListener("navigate", stepBack);
    window.addEventListener("beforeunload", reload);
    return () => {
      steps()?.removeEventListener("navigate", stepBack);
      window.removeEventListener("beforeunload", reload);
      element?.close();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={className}
      aria-label={label}
      data-returns
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onClose={() => dialog.current && onClose()}
      onKeyDown={(event) => {
        if (event.defaultPrevented || pressedKey(event) !== "Escape") return;
        // A browser asks for a second Escape in a row no more, and closes the dialog with what is in it.
        event.preventDefault();
        leave();
      }}
      onInput={(event) => {
        if (!(event.target as Element).matches(SEARCH)) typed.current = true;
      }}
      onPointerDown={(event) => {
        pressedBeside.current = isBeside(event);
      }}
      onClick={(event) => {
        if (isBeside(event) && pressedBeside.current && !typed.current) onClose();
      }}
    >
      {children}
      {asking && (
        <div className="note tone-amber" role="alert" ref={focusFirst}>
          <Glyph name="barrier" tone="amber" />
          <p>The text that is typed here is lost when it closes.</p>
          <p className="row wrap">
            <Button onClick={stay}>Go on typing</Button>
            <Button kind="bad" onClick={onClose}>
              Close without it
            </Button>
          </p>
        </div>
      )}
    </dialog>
  );
}
