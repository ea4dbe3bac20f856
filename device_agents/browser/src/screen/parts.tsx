/** The small parts of the tab's page. */
import type { ReactNode } from "react";

export function Notice({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="notice">
      <h1>{title}</h1>
      {children}
    </main>
  );
}

/** One capability: a switch of 44 px, what it allows, and where it cannot be used why, with the switch off and fixed. */
export function Switch(props: {
  label: string;
  about: string;
  cannot: string;
  on: boolean;
  onChange(on: boolean): void;
}) {
  const { label, about, cannot, on, onChange } = props;
  return (
    <li className="capability">
      <label>
        <span className="words">
          <span className="name">{label}</span>
          <span className="about">{about}</span>
          {cannot && <span className="cannot">Not here: {cannot}</span>}
        </span>
        <input
          type="checkbox"
          role="switch"
          checked={on && !cannot}
          aria-checked={on && !cannot}
          disabled={Boolean(cannot)}
          onChange={(event) => onChange(event.target.checked)}
        />
      </label>
    </li>
  );
}

/** Shape and word of a connection's state; never the colour alone. */
export function Pill({ tone, children }: { tone: "teal" | "amber" | "vermilion" | "blue"; children: ReactNode }) {
  return (
    <span className={`pill tone-${tone}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {tone === "teal" && <circle cx="8" cy="8" r="5" fill="currentColor" />}
        {tone === "blue" && (
          <path d="M8 2.25A5.75 5.75 0 1 1 2.25 8" fill="none" stroke="currentColor" strokeWidth="2" />
        )}
        {tone === "amber" && (
          <path
            d="M3 5a6 6 0 0 1 4-2.6M11 3a6 6 0 0 1 2.8 5M12 12a6 6 0 0 1-5 1.6"
            fill="none"
            stroke="currentColor"
            strokeWidth="2"
          />
        )}
        {tone === "vermilion" && <path d="M3 3l10 10M13 3L3 13" stroke="currentColor" strokeWidth="2" />}
      </svg>
      {children}
    </span>
  );
}
