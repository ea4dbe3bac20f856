/** Why nothing can be asked of the hub now; null while it can. Every button that asks something of it says this instead. */
import { createContext } from "react";

export const AwayContext = createContext<string | null>(null);
export const AWAY = "The hub does not answer; it is possible again when it does.";
