/** All tools of the fleet as a person chooses among them: by what they do, with who can and who lacks what. */

import type { StreamModel } from "../stream/stream.ts";
import type { Offer } from "../types.ts";
import { known } from "../words/known.ts";
import { devices, sleeps } from "./fleet.ts";

type ToolOffer = NonNullable<Offer["tools"]>[number];

export interface Carrier {
  id: string;
  name: string;
  tag: string;
  os: string;
  labels: readonly string[];
  online: boolean;
  /** Why it cannot do this now, in words; empty when it can. */
  lacks: string;
}

export interface ToolView {
  name: string;
  title: string;
  group: string;
  schema: string;
  /** The schema of its result or the name of one, and the device that says so; empty where none is known. */
  returns: { schema: string; from: string };
  effects: readonly string[];
  repeatability: string;
  grant: string | null;
  carriers: Carrier[];
}

const GROUPS: { [stem: string]: string } = {
  fs: "Files",
  archive: "Files",
  artifact: "Files",
  data: "Tables",
  sqlite: "Tables",
  image: "Pictures",
  camera: "Pictures",
  system: "The machine",
  disk: "The machine",
  process: "The machine",
  service: "The machine",
  log: "The machine",
  package: "The machine",
  net: "The network",
  http: "The network",
  browser: "The network",
  python: "Programs",
  shell: "Programs",
  git: "Programs",
  container: "Programs",
  wait: "Waiting",
  notify: "People and screens",
  ask: "People and screens",
  open: "People and screens",
  screen: "People and screens",
  desktop: "People and screens",
  clipboard: "People and screens",
  file: "People and screens",
  geolocation: "People and screens",
  share: "People and screens",
};
export const GROUP_ORDER = [
  "Files",
  "Tables",
  "The machine",
  "The network",
  "Programs",
  "Pictures",
  "People and screens",
  "Waiting",
  "Other",
];

const cache = new WeakMap<StreamModel, { revision: number; tools: Map<string, ToolView> }>();

/** Every tool that a device of the fleet offers, able or not. */
export function toolsOf(fleet: StreamModel): ReadonlyMap<string, ToolView> {
  const held = cache.get(fleet);
  if (held?.revision === fleet.revision) return held.tools;
  const tools = new Map<string, ToolView>();
  for (const view of devices(fleet).values()) {
    for (const offer of view.offer?.tools ?? []) {
      const tool = tools.get(offer.name) ?? viewOf(offer, view.id);
      tools.set(offer.name, tool);
      tool.carriers.push({
        id: view.id,
        name: view.device.name,
        tag: view.tag,
        os: view.device.os ?? "",
        labels: view.device.labels ?? [],
        online: view.device.link === "online",
        lacks: lack(offer, view.offer?.grants ?? [], view.device.link === "online", sleeps(view.device)),
      });
    }
  }
  cache.set(fleet, { revision: fleet.revision, tools });
  return tools;
}

/** The view of a tool, without its carriers yet. */
function viewOf(offer: ToolOffer, device: string): ToolView {
  return {
    name: offer.name,
    title: offer.title || offer.name,
    group: known(GROUPS, offer.name.split(".", 1)[0] ?? "") ?? "Other",
    schema: offer.args ?? "{}",
    returns: { schema: offer.returns ?? "", from: device },
    effects: offer.effects ?? [],
    repeatability: offer.repeatability ?? "never",
    grant: offer.grant ?? null,
    carriers: [],
  };
}

function lack(offer: ToolOffer, grants: readonly string[], online: boolean, asleep: boolean): string {
  if (offer.unavailable) return offer.unavailable;
  if (offer.grant && !grants.includes(offer.grant)) return `has not granted ${offer.grant}`;
  return online ? "" : asleep ? "is asleep" : "is out of reach";
}

export const able = (tool: ToolView): Carrier[] => tool.carriers.filter((carrier) => !carrier.lacks);

/** A tool's name, or a word of those that are meant, and the words by which people look for it, German ones too. */
const LOOKED_FOR: { [meant: string]: string } = {
  "archive.unpack": "extract unzip auspacken entpacken",
  compare: "difference vergleichen",
  copy: "duplicate kopieren kopiere sichern",
  "disk.usage": "space storage festplatte platz speicherplatz",
  "data.duplicates": "doppelte",
  "data.filter": "filtern",
  "data.merge": "combine join",
  "data.sort": "sort sortieren",
  "data.table": "csv excel tabelle",
  device: "gerät",
  file: "datei dateien",
  find: "finde finden suche suchen",
  folder: "directory ordner verzeichnis",
  "fs.hash": "checksum prüfsumme",
  "fs.move": "rename umbenennen verschieben",
  "fs.read": "lesen",
  "fs.restore": "undelete wiederherstellen",
  "fs.search": "grep",
  "fs.trash": "delete erase remove lösche löschen",
  "fs.write": "create save speichern",
  "http.request": "download herunterladen",
  "image.resize": "resize shrink verkleinere verkleinern",
  "net.check": "online ping reachable erreichbar",
  notify: "message notification remind erinnern nachricht",
  open: "öffnen",
  pack: "compress komprimieren packen zippen",
  person: "frage fragen",
  picture: "bild bilder foto fotos image images photo photos",
  "process.kill": "beenden",
  program: "command execute programm",
  screen: "bildschirm screenshot",
  "service.restart": "neustarten reboot",
  "system.info": "cpu memory ram",
  trash: "bin papierkorb",
  "wait.until": "beobachten monitor observe überwachen warten watch",
};
const MEANT = new Map(
  Object.entries(LOOKED_FOR).flatMap(([meant, words]) => words.split(" ").map((one) => [one, meant])),
);

/**
 * Tools whose name, title or group fit the words typed, or what people mean by them, or whose description has them. Those
 * that fit most of the words are shown: one word too many empties no list. First what takes the value
 * at hand, then what is able, then where the title or the name begins with the words, then where they are words of it, then where they begin one.
 */
export function matchingTools(
  tools: Iterable<ToolView>,
  typed: string,
  takes: (tool: ToolView) => boolean = () => true,
): ToolView[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...tools];
  const fits = new Map(all.map((tool) => [tool, fitOf(tool, words)]));
  const most = Math.max(0, ...fits.values());
  const fitting = words.length ? all.filter((tool) => most > 0 && fits.get(tool) === most) : all;
  const patterns = words.map((word) => patternsOf(MEANT.get(word) ?? word));
  const rank = (tool: ToolView) =>
    (takes(tool) ? 0 : 1000) +
    (able(tool).length ? 0 : 300) +
    10 * patterns.reduce((sum, held) => sum + distance(held, tool), 0) +
    GROUP_ORDER.indexOf(tool.group);
  return fitting.sort((a, b) => rank(a) - rank(b) || a.title.localeCompare(b.title));
}

/** So little counts a word of a tool's description beside one of its name: the whole of a plan's words is less than one. */
const BY_ABOUT = 0.01;

/** How many of the words fit a tool. */
function fitOf(tool: ToolView, words: readonly string[]): number {
  const text = `${tool.name} ${tool.title} ${tool.group}`.toLowerCase();
  const about = tool.schema.toLowerCase();
  const one = (word: string): number =>
    text.includes(word) || text.includes(MEANT.get(word) ?? word)
      ? 1
      : word.length > 3 && about.includes(word)
        ? BY_ABOUT
        : 0;
  return words.reduce((sum, word) => sum + one(word), 0);
}

/** The ways in which a word fits a title or a name, the best first. */
function patternsOf(word: string): RegExp[] {
  const own = escapedRegExp(word);
  const ways = [`^${own}(?![a-z])`, `^${own}`, `(?<![a-z])${own}(?![a-z])`, `(?<![a-z])${own}`];
  return ways.map((way) => new RegExp(way, "i"));
}

function distance(patterns: readonly RegExp[], tool: ToolView): number {
  const way = patterns.findIndex((pattern) => pattern.test(tool.title) || pattern.test(tool.name));
  return way < 0 ? patterns.length : way;
}

const escapedRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** "Safe to run again?", answered in words. */
export const AGAIN: { value: string; label: string; short: string }[] = [
  { value: "pure", label: "Yes, it only looks or computes", short: "safe to run again" },
  { value: "idempotent", label: "Yes, doing it again changes nothing more", short: "safe to run again" },
  { value: "verifiable", label: "After checking whether it happened", short: "checked before a repeat" },
  { value: "compensable", label: "It can be undone first", short: "undone before a repeat" },
  { value: "never", label: "No, ask me before it runs a second time", short: "never repeated without you" },
];

export const againShort = (value: string): string => AGAIN.find((one) => one.value === value)?.short ?? value;
