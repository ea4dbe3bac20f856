/** Every tool of the tab, in the order in which people read them. */
import { ask } from "./ask.ts";
import { cameraCapture } from "./cameraCapture.ts";
import { clipboard } from "./clipboard.ts";
import { filePick } from "./filePick.ts";
import { fileSave } from "./fileSave.ts";
import { geolocation } from "./geolocation.ts";
import type { Tool } from "./interface.ts";
import { notify } from "./notify.ts";
import { pythonRun } from "./pythonRun.ts";
import { share } from "./share.ts";

export const TOOLS: readonly Tool[] = [
  ask,
  notify,
  filePick,
  fileSave,
  cameraCapture,
  geolocation,
  clipboard,
  share,
  pythonRun,
];
