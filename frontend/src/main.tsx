/** The page's beginning: session first, then the workspace, then the pages by their addresses. */
import "./styles/tokens.css";
import "./styles/parts.css";
import "./styles/shell.css";
import "./styles/pages.css";
import "./features/request/requests.css";
import "./features/constellation/constellation.css";
import "./features/schedules/schedules.css";
import "./features/activity/activity.css";
import "./features/fleet/devices.css";
import "./features/lab/lab.css";
import "./styles/narrow.css";
import "./styles/print.css";
import { createRoot } from "react-dom/client";
import { App } from "./App.tsx";
import { guardPresses } from "./app/actions/presses.ts";
import { guardDrops, guardPastes } from "./app/actions/transfers.ts";

const element = document.getElementById("page");
if (!element) throw new Error("index.html has no element #page");
guardPresses(document);
guardDrops(window);
guardPastes(document);
createRoot(element).render(<App />);
