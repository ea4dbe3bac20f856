/** What every card of the drawing needs, handed down once. */
import { createContext, useContext } from "react";
import type { Overlay } from "../../../model/stream/history.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";

export type OpenMenu = (task: string, at: { x: number; y: number }) => void;

export interface GraphScene {
  model: StreamModel;
  fleet: StreamModel;
  selected: string | null;
  overlay: Overlay;
  /** The open column of each family, by its root. */
  open: ReadonlyMap<string, string>;
  onSelect: (task: string) => void;
  /** Opens the menu of a task at a place on the screen. */
  onMenu: OpenMenu;
  onOpen: (family: string, member: string) => void;
}

export const GraphContext = createContext<GraphScene | null>(null);

export function useScene(): GraphScene {
  const scene = useContext(GraphContext);
  if (!scene) throw new Error("a card was drawn outside of the graph");
  return scene;
}
