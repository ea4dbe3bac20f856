/** The platform's own dialog: it traps the focus and closes on Escape. Giving the focus back is `app/focus.ts`. */
import { type ReactNode, useEffect, useRef } from "react";

interface ModalProps {
  label: string;
  className?: string;
  onClose: () => void;
  children: ReactNode;
}

export function Modal({ label, className, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
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
