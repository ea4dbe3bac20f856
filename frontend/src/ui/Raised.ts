/**
 * A button and the dialog that it opens, apart: the button may stand in a bar that another layout draws elsewhere, and
 * its dialog is drawn by the page, so that a turned phone or another zoom keeps what was typed.
 */
import type { ReactNode } from "react";

export interface Raised {
  button: ReactNode;
  dialog: ReactNode;
}
