/** The page's first lines: installable shell, then the screen. */
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { guardPresses } from "../../../frontend/src/app/actions/presses.ts";
import { guardDrops } from "../../../frontend/src/app/actions/transfers.ts";
import { Page } from "./screen/Page.tsx";
import "../../../frontend/src/styles/tokens.css";
import "./screen/screen.css";

// Its faster way makes code out of text, which the page's policy forbids.
z.config({ jitless: true });
if ("serviceWorker" in navigator && import.meta.env.PROD) {
  // Without it the page works, but does not open while the hub is away.
  navigator.serviceWorker.register("sw.js", { updateViaCache: "none" }).catch(() => {});
}
const root = document.getElementById("page");
guardPresses(document);
guardDrops(window);
if (root !== null) createRoot(root).render(<Page />);
