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

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

export function turnTheme(): Theme {
  const look = useLook.getState();
  look.setTheme(NEXT[look.theme]);
  return NEXT[look.theme];
}
