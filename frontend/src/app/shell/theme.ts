/** Theme and density: kept on this device, set on the root element; `public/theme.js` sets them before first paint. */
import { create } from "zustand";

export type Theme = "system" | "light" | "dark";
export type Density = "comfortable" | "compact";

interface Look {
  theme: Theme;
  density: Density;
  setTheme: (theme: Theme) => void;
  setDensity: (density: Density) => void;
}

function read<T extends string>(name: string, allowed: readonly T[], otherwise: T): T {
  try {
    const kept = localStorage.getItem(`starloom.${name}`) as T | null;
    return kept && allowed.includes(kept) ? kept : otherwise;
  } catch {
    return otherwise;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(`starloom.${name}`, value);
  } catch {
    // Without storage the choice lasts as long as the page; that is all that can be done.
  }
}

function mark(name: string, value: string, natural: string): void {
  if (value === natural) delete document.documentElement.dataset[name];
  else document.documentElement.dataset[name] = value;
}

export const useLook = create<Look>((set) => ({
  theme: read<Theme>("theme", ["system", "light", "dark"], "system"),
  density: read<Density>("density", ["comfortable", "compact"], "comfortable"),
  setTheme: (theme) => {
    write("theme", theme);
    mark("theme", theme, "system");
    set({ theme });
  },
  setDensity: (density) => {
    write("density", density);
    mark("density", density, "comfortable");
    set({ density });
  },
}));

/** The theme after one press: each press changes what is seen, and the system's look is taken where it is the one. */
export const turned = (theme: Theme, systemIsDark: boolean): Theme => {
  const dark = theme === "system" ? systemIsDark : theme === "dark";
  if (dark === !systemIsDark) return "system";
  return dark ? "light" : "dark";
};

/** Turns the theme and says which look it has now. */
export function turnTheme(): string {
  const look = useLook.getState();
  const systemIsDark = typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches;
  const next = turned(look.theme, systemIsDark);
  look.setTheme(next);
  return next === "system" ? `${systemIsDark ? "dark" : "light"}, as the system has it` : next;
}
