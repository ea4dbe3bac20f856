/** The platform's own dialog: it traps the focus and closes on Escape. Giving the focus back is `app/focus.ts`. */
import { type ReactNode, useEffect, useRef } from "react";

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

export function Modal({ label, className, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) {
      element.showModal();
      beginIn(element);
    }
    return () => element?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog closes it; Escape is the keyboard's way.
    <dialog
      ref={dialog}
      className={className}
      aria-label={label}
      data-returns
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      {children}
    </dialog>
  );
}
