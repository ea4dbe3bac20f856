/** The page's line icons: one path each on a 20 grid, drawn in the colour of the text. Purely decorative. */
const PATHS = {
  home: "M3 9l7-6 7 6v7.5a.5.5 0 0 1-.5.5H12v-5H8v5H3.5a.5.5 0 0 1-.5-.5z",
  constellation:
    "M4.5 5.5l5 3.5 6-4.5M9.5 9l-3 6M9.5 9l6 5M4.5 4a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM15.5 3a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM6.5 13.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM15.5 12.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z",
  fleet: "M2.5 4h11v8h-11zM5 15h6M8 12v3M15 7h2.5v9H13",
  recipe: "M4 3h9l3 3v11H4zM7 8h6M7 11h6M7 14h3",
  inbox: "M3 11l2-7h10l2 7v5H3zM3 11h4l1.2 2.2h3.6L13 11h4",
  settings: "M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4",
  plus: "M10 4v12M4 10h12",
  search: "M9 3.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM13 13l4 4",
  pause: "M7 4.5v11M13 4.5v11",
  trash: "M4 6h12M8 6V3.5h4V6M5.5 6l.8 11h7.4l.8-11M8.5 9v5M11.5 9v5",
  play: "M6 4l10 6-10 6z",
  stop: "M5 5h10v10H5z",
  retry: "M16 10a6 6 0 1 1-2-4.5M16 3v3.5h-3.5",
  skip: "M4 4l6 6-6 6M11 4l6 6-6 6",
  edit: "M4 16l1-4 8.5-8.5 3 3L8 15zM11.5 5.5l3 3",
  theme: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
  close: "M5 5l10 10M15 5L5 15",
  fit: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4",
  move: "M3 10h14M13 6l4 4-4 4",
  graph: "M3 4h5v4H3zM12 8h5v4h-5zM3 13h5v4H3zM8 6h2v9H8M10 10h2",
  list: "M3 5h14M3 10h14M3 15h14",
  file: "M5 3h7l3 3v11H5zM12 3v3h3",
  table: "M3 4h14v12H3zM3 8h14M8 8v8",
  image: "M3 4h14v12H3zM3 14l4-4 3 3 3-4 4 5M7 7.5h.01",
  proof: "M10 3l6 2v5c0 4-3 6-6 7-3-1-6-3-6-7V5zM7.5 10l2 2 3.5-4",
  filter: "M3 5h14l-5.5 6v5l-3-1.5V11z",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  right: "M8 5l5 5-5 5",
  left: "M12 5l-5 5 5 5",
  down: "M5 8l5 5 5-5",
  copy: "M7 7h9v9H7zM4 13V4h9",
  phone: "M6 2.5h8v15H6zM9 15h2",
  server: "M3 4h14v5H3zM3 11h14v5H3zM6 6.5h.01M6 13.5h.01",
  laptop: "M4 4h12v9H4zM2 16h16",
  desktop: "M3 4h14v9H3zM7 16h6M10 13v3",
  tab: "M3 4h14v12H3zM3 8h14M6 6h.01",
  bolt: "M11 2L5 11h4l-1 7 6-9h-4z",
  check: "M4 10.5l4 4 8-9",
  keys: "M3 5h14v10H3zM6 8h.01M9 8h.01M12 8h.01M14.5 8h.01M6 12h8",
  undo: "M7 4L3.5 7.5 7 11M4 7.5h8a4.5 4.5 0 0 1 0 9H8",
  redo: "M13 4l3.5 3.5L13 11M16 7.5H8a4.5 4.5 0 0 0 0 9h4",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4l3 2",
  timeline: "M3 3v14h14M6 6h6M8 10h8M10 14h4",
  down_to: "M10 3v9M6 9l4 4 4-4M4 16h12",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, big = false }: { name: IconName; big?: boolean }) {
  return (
    <svg className={big ? "icon big" : "icon"} viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} strokeWidth={name === "more" ? 2.5 : undefined} />
    </svg>
  );
}

export function Brand() {
  return (
    <svg viewBox="0 0 24 24" fill="none" strokeWidth="1.5" strokeLinecap="round" aria-hidden="true">
      <path d="M5 4v16M12 4v16M19 4v16" stroke="var(--line-2)" />
      <path d="M3 17c4 0 4-5 9-5s5-5 9-5" stroke="var(--accent)" strokeWidth="2" />
      <g fill="var(--accent)" stroke="none">
        <circle cx="5" cy="16.5" r="2" />
        <circle cx="12" cy="12" r="2" />
        <circle cx="19" cy="7.5" r="2" />
      </g>
    </svg>
  );
}
