/** The page's beginning: session first, then the workspace, then the pages by their addresses. */
import "./styles/tokens.css";
import "./styles/parts.css";
import "./styles/shell.css";
import "./styles/pages.css";
import "./styles/requests.css";
import "./styles/constellation.css";
import "./styles/schedules.css";
import "./styles/activity.css";
import "./styles/devices.css";
import "./styles/lab.css";
import "./styles/narrow.css";
import { createRoot } from "react-dom/client";
import { App } from "./app/App.tsx";

const element = document.getElementById("page");
if (!element) throw new Error("index.html has no element #page");
createRoot(element).render(<App />);
