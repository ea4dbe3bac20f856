/** What every card of the drawing needs, handed down once. */
import { createContext, useContext } from "react";
import type { Overlay } from "../model/history.ts";
import type { StreamModel } from "../model/stream.ts";
import type { Block } from "./blocks.ts";

export interface GraphScene {
  blocks: ReadonlyMap<string, Block>;
  model: StreamModel;
  fleet: StreamModel;
  selected: string | null;
  overlay: Overlay;
  /** The open column of each family, by its root. */
  open: ReadonlyMap<string, string>;
  onSelect: (task: string) => void;
  onOpen: (family: string, member: string) => void;
}

export const GraphContext = createContext<GraphScene | null>(null);

export function useScene(): GraphScene {
  const scene = useContext(GraphContext);
  if (!scene) throw new Error("a card was drawn outside of the graph");
  return scene;
}
