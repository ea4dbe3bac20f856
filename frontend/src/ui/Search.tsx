/** How a list is narrowed: words typed into its search field (`/` goes there), and one choice of a few. */
import { Icon } from "./Icon.tsx";
import { pressedKey } from "./pressedKey.ts";

interface Words {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
  /** A filter has a grammar of its own. */
  icon?: "search" | "filter";
  className?: string;
  /** What Escape does. */
  onEscape?: () => void;
}

export function SearchField(props: Words) {
  const { label, placeholder, value, onChange, icon = "search", className = "search", onEscape } = props;
  return (
    <label className={`field ${className}`}>
      <Icon name={icon} />
      <input
        data-filter
        aria-label={label}
        placeholder={placeholder}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (pressedKey(event) === "Escape") onEscape?.();
        }}
      />
      <kbd className="only-wide" aria-hidden="true">
        /
      </kbd>
    </label>
  );
}

interface Choice<T extends string> {
  label: string;
  value: T;
  choices: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}

export function Choose<T extends string>({ label, value, choices, onChange }: Choice<T>) {
  return (
    <select
      className="input short"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value as T)}
    >
      {choices.map(([one, word]) => (
        <option key={one} value={one}>
          {word}
        </option>
      ))}
    </select>
  );
}
