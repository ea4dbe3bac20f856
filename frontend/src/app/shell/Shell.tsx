/** The frame of every page: rail, top bar, bottom bar, link pill, palette, keys. Draws no page of its own. */

import { type ReactNode, useLayoutEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { timeOfDay } from "../../model/words/words.ts";
import { Acts } from "../../ui/Acts.tsx";
import { UNKNOWN, whyNotBy } from "../../ui/away.tsx";
import { Boundary } from "../../ui/Boundary.tsx";
import { Brand, Icon, type IconName } from "../../ui/Icon.tsx";
import { Button } from "../../ui/parts.tsx";
import { useDoing } from "../actions/Actions.tsx";
import { useMine } from "../waiting/mine.ts";
import { useLink, useMedia, usePhone, useWorkspace } from "../workspace/context.ts";
import { printWhole } from "../workspace/printing.ts";
import type { PaletteEntry } from "./finds.ts";
import { KeyList } from "./KeyList.tsx";
import { type Key, useKeys } from "./keys.ts";
import { Palette } from "./Palette.tsx";
import { Places } from "./Places.tsx";
import { Spoken } from "./Spoken.tsx";
import { turnTheme, useLook } from "./theme.ts";

const PLACES: { path: string; label: string; icon: IconName; keys?: string }[] = [
  { path: "/", label: "Home", icon: "home", keys: "g h" },
  { path: "/constellations", label: "Constellations", icon: "constellation", keys: "g r" },
  { path: "/devices", label: "Fleet", icon: "fleet", keys: "g f" },
  { path: "/recipes", label: "Recipes", icon: "recipe", keys: "g c" },
  { path: "/schedules", label: "Schedules", icon: "clock", keys: "g s" },
  { path: "/inbox", label: "Inbox", icon: "inbox", keys: "g i" },
  { path: "/activity", label: "Activity", icon: "list", keys: "g a" },
  { path: "/settings", label: "Settings", icon: "settings", keys: "g e" },
];

/** These stand on the bar of a phone; the others behind its *More*. */
const ON_BAR: ReadonlySet<string> = new Set(["/", "/constellations", "/devices"]);

/** A phone held sideways: the rail keeps its icons and leaves its width to the page. */
const TIGHT = "(min-width: 721px) and (max-width: 900px)";
const LAB = { path: "/lab", label: "Lab", keys: undefined };

interface ShellProps {
  title: string;
  /** Before the title on a wide screen, as a way back on a phone. */
  crumb?: { path: string; label: string };
  beside?: ReactNode;
  actions?: ReactNode;
  keys?: Key[];
  /** What this page adds to the palette; as a function where it is much, since it is asked for only while that is open. */
  entries?: PaletteEntry[] | (() => PaletteEntry[]);
  narrow?: boolean;
  /** How it stands with the subject of the page; a screen reader says each change of it. */
  standing?: string;
  /** The page scrolls its own parts, and as a whole only where the window is too low for all of them. */
  fixed?: boolean;
  className?: string;
  children: ReactNode;
}

export function Shell(props: ShellProps) {
  const [path, go] = useLocation();
  const { say } = useDoing();
  const { session } = useWorkspace();
  // Home says who may start work; no other place offers it to those who may not.
  const starts = whyNotBy(session ?? UNKNOWN, "start") === null;
  const waiting = useMine().count;
  const [over, setOver] = useState<"palette" | "keys" | "places" | null>(null);
  const phone = usePhone();
  const tight = useMedia(TIGHT);
  // Before the paint: the title never counts what the page below it already leaves out.
  useLayoutEffect(() => {
    document.title = `${waiting ? `(${waiting}) ` : ""}${props.title} - Starloom`;
  }, [props.title, waiting]);

  const filter = () => {
    const field = document.querySelector<HTMLElement>("[data-filter]");
    if (field) field.focus();
    else setOver("palette");
  };
  const common: Key[] = [
    { keys: "Ctrl-K", does: "Search and do anything", run: () => setOver("palette"), always: true },
    { keys: "Ctrl-P", does: "Print all of this page", run: () => void printWhole() },
    { keys: "?", does: "Show all keys", run: () => setOver("keys") },
    ...(starts ? [{ keys: "n", does: "New request", run: () => go("/new") }] : []),
    { keys: "/", does: "Filter; search where nothing can be filtered", run: filter },
    ...PLACES.filter((place) => place.keys).map((place) => ({
      keys: place.keys ?? "",
      does: `Go to ${place.label}`,
      run: () => go(place.path),
    })),
    { keys: "t", does: "Theme: light or dark", run: () => say(`Theme: ${turnTheme()}`) },
    {
      keys: "d",
      does: "Density of rows",
      run: () => {
        const look = useLook.getState();
        look.setDensity(look.density === "compact" ? "comfortable" : "compact");
      },
    },
  ];
  const keys = [...(props.keys ?? []), ...common];
  useKeys(keys);
  const openPalette = () => setOver("palette");
  const entries = (): PaletteEntry[] => [
    ...(typeof props.entries === "function" ? props.entries() : (props.entries ?? [])),
    ...(starts ? [{ id: "new", group: "Go to", label: "New request", keys: "n", run: () => go("/new") }] : []),
    ...[...PLACES, ...(session?.lab ? [LAB] : [])].map((place) => ({
      id: place.path,
      group: "Go to",
      label: place.label,
      keys: place.keys,
      run: () => go(place.path),
    })),
    ...keys
      .filter((key) => (key.keys.length === 1 || key.keys === "Ctrl-P") && key.keys !== "n" && key.keys !== "/")
      .map((key) => ({ id: `key ${key.keys}`, group: "Do", label: key.does, keys: key.keys, run: key.run })),
  ];
  const here = (place: string) => (place === "/" ? path === "/" : path.startsWith(place));

  return (
    <>
      <div className={`app ${props.narrow || tight ? "narrow" : ""}`}>
        <button type="button" className="skip" onClick={() => document.getElementById("main")?.focus()}>
          Skip to the content
        </button>
        <nav className="rail" aria-label="Main">
          <Link className="brand" href="/" aria-label="Starloom, home">
            <Brand />
            <span className="label">Starloom</span>
          </Link>
          {starts && (
            <Link
              className="new"
              href="/new"
              title="New request"
              aria-label="New request"
              aria-current={path === "/new" ? "page" : undefined}
            >
              <Icon name="plus" big />
              <span className="label">New request</span>
              <kbd className="end" aria-hidden="true">
                n
              </kbd>
            </Link>
          )}
          {PLACES.map((place) => (
            <Link
              key={place.path}
              href={place.path}
              title={place.label}
              aria-label={place.label}
              aria-current={here(place.path) ? "page" : undefined}
            >
              <Icon name={place.icon} big />
              <span className="label">{place.label}</span>
              {place.path === "/inbox" && waiting > 0 && <span className="badge">{waiting}</span>}
            </Link>
          ))}
        </nav>
        <header className="top">
          {props.crumb && (
            <>
              <Link className="dim only-wide nowrap" href={props.crumb.path}>
                {props.crumb.label}
              </Link>
              <span className="faint only-wide" aria-hidden="true">
                /
              </span>
              <Link
                className="btn quiet square only-phone back"
                href={props.crumb.path}
                aria-label={`Back to ${props.crumb.label}`}
              >
                <Icon name="left" big />
              </Link>
            </>
          )}
          <h1>{props.title}</h1>
          {props.beside}
          <span className="grow" />
          {!phone && props.actions && <Acts label="Actions of this page">{props.actions}</Acts>}
          {!phone && props.actions && <span className="rule" />}
          <LinkPill />
          <Button
            kind="quiet"
            icon="search"
            onClick={openPalette}
            aria-label="Search and do anything, Ctrl K"
            className="search"
          >
            <kbd className="only-wide" aria-hidden="true">
              Ctrl K
            </kbd>
          </Button>
          <Button
            kind="quiet"
            icon="theme"
            className="only-wide"
            aria-label="Change theme"
            title="Theme: light or dark (t)"
            onClick={() => say(`Theme: ${turnTheme()}`)}
          />
        </header>
        <main id="main" tabIndex={-1} className={`${props.fixed ? "fixed" : ""} ${props.className ?? ""}`}>
          <Boundary part="This page" of={path}>
            {props.children}
          </Boundary>
        </main>
        <Spoken waiting={waiting} standing={props.standing} />
        <nav className="bottombar" aria-label="Main, bottom">
          {[PLACES[0], PLACES[1]].map(
            (place) => place && <BottomLink key={place.path} {...place} on={here(place.path)} />,
          )}
          {starts && <BottomLink path="/new" label="New" icon="plus" on={path === "/new"} />}
          <BottomLink path="/devices" label="Fleet" icon="fleet" on={here("/devices")} />
          <button type="button" onClick={() => setOver("places")}>
            <Icon name="more" big />
            <span>More</span>
            {waiting > 0 && <span className="badge">{waiting}</span>}
          </button>
        </nav>
      </div>
      {over === "palette" && <Palette entries={entries()} onClose={() => setOver(null)} />}
      {over === "places" && (
        <Places
          places={PLACES.filter((place) => !ON_BAR.has(place.path))}
          waiting={waiting}
          onSearch={openPalette}
          onClose={() => setOver(null)}
        />
      )}
      {over === "keys" && <KeyList keys={keys} onClose={() => setOver(null)} />}
    </>
  );
}

function BottomLink({ path, label, icon, on }: { path: string; label: string; icon: IconName; on: boolean }) {
  return (
    <Link href={path} aria-current={on ? "page" : undefined}>
      <Icon name={icon} big />
      <span>{label}</span>
    </Link>
  );
}

function LinkPill() {
  const link = useLink();
  const { live } = useWorkspace();
  const since = timeOfDay(link.sinceMs).slice(0, 5);
  const words = {
    live: "Live",
    catching_up: "Catching up",
    connecting: "Connecting",
    offline: `Offline since ${since}`,
  }[link.state];
  if (link.state !== "offline") {
    return (
      <span className={`linkpill ${link.state}`} title="Events come as they are committed">
        {words}
      </span>
    );
  }
  return (
    <button
      type="button"
      className="linkpill offline"
      title={`${link.reason || "The hub does not answer"}. Try now`}
      onClick={() => live.retryNow()}
    >
      {words}
    </button>
  );
}
