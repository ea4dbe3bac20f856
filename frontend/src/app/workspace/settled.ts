/** A value that has stood still for a moment, for what should not happen at every key. */
import { useEffect, useState } from "react";

/** The value once it has stood still; null at once, so that an empty box shows nothing old. */
export function useSettled(value: string | null, ms: number): string | null {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), value === null ? 0 : ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return value === null ? null : settled;
}
