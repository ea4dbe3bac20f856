/** Which browser on which system a user agent names, in words; empty for what is none. Pure. */

const BROWSERS: [RegExp, string][] = [
  [/\bEdg(A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Headless)?Chrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const SYSTEMS: [RegExp, string][] = [
  [/\bAndroid\b/, "Android"],
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

export function browserName(agent: string): string {
  const find = (names: [RegExp, string][]) => names.find(([sign]) => sign.test(agent))?.[1];
  const browser = agent.startsWith("Mozilla/") ? find(BROWSERS) : undefined;
  const system = find(SYSTEMS);
  return browser ? `${browser}${system ? ` on ${system}` : ""}` : "";
}
