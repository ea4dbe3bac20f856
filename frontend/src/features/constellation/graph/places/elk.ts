/** The layered layout of ELK, in its own worker, for drawings too large for the quick placement. Loaded on need. */

import ELK, { type ElkNode } from "elkjs/lib/elk-api.js";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import type { Drawing } from "../../../../model/layout/blocks.ts";
import type { Placed, Point } from "../../../../model/layout/layout.ts";
import { parted, withLoose } from "../../../../model/layout/loose.ts";

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "RIGHT",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.spacing.nodeNode": "20",
  "elk.layered.spacing.nodeNodeBetweenLayers": "40",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
};

let elk: InstanceType<typeof ELK> | null = null;

export async function elkLayout(drawing: Drawing): Promise<Placed> {
  elk ??= new ELK({ workerFactory: () => new Worker(workerUrl) });
  const { joined, loose } = parted(drawing);
  const graph: ElkNode = {
    id: "root",
    layoutOptions: OPTIONS,
    children: joined.blocks.map((block) => ({ id: block.id, width: block.width, height: block.height })),
    edges: drawing.links.map((link, index) => ({ id: `l${index}`, sources: [link.from], targets: [link.to] })),
  };
  const done = await elk.layout(graph);
  const at = new Map<string, Point>();
  for (const child of done.children ?? []) at.set(child.id, { x: child.x ?? 0, y: child.y ?? 0 });
  const routes = (done.edges ?? []).map((edge) => {
    const section = edge.sections?.[0];
    return section ? [section.startPoint, ...(section.bendPoints ?? []), section.endPoint] : [];
  });
  const placed = { at, routes, width: done.width ?? 0, height: done.height ?? 0 };
  return withLoose(placed, loose, loose.length);
}
