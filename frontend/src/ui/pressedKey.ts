/**
 * The key that a press means for the page; empty while a word is composed of several presses, as in Japanese or with a
 * dead key: they belong to the method that composes it, also the Enter that ends it. Every handler of keys asks this;
 * `keyCode` is the only sign of that Enter in Safari.
 */
export function pressedKey(event: KeyboardEvent | { nativeEvent: KeyboardEvent }): string {
  const press = "nativeEvent" in event ? event.nativeEvent : event;
  return press.isComposing || press.keyCode === 229 ? "" : press.key;
}
