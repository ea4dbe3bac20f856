/** The charge of this device, where its browser tells it (Chromium, in a secure context); elsewhere nothing is said. */
import { every } from "./clock.ts";

/** As often as a device that is a computer says its figures: `VITALS_EVERY_S` of the protocol. */
const EVERY_S = 20;

interface Battery {
  level: number;
}

type Place = { getBattery?: () => Promise<Battery> };

/** Say the charge in percent now and again and again; returns what ends it. */
export function watchBattery(say: (percent: number) => void, place: Place = navigator as Place): () => void {
  let stop = () => {};
  let ended = false;
  void place.getBattery?.().then(
    (battery) => {
      if (ended) return;
      const tell = () => {
        const percent = Math.round(battery.level * 100);
        if (percent >= 0 && percent <= 100) say(percent);
      };
      tell();
      stop = every(EVERY_S, tell);
    },
    // A policy of the page's place may forbid it: then there is no charge to tell.
    () => {},
  );
  return () => {
    ended = true;
    stop();
  };
}
