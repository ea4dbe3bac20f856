/** The page's live socket against the mock hub: both ends in one object, told apart by what a frame carries. */
import type { LiveClient, MockHub } from "./mockHub.ts";

export class MockSocket implements LiveClient {
  static hub: MockHub;
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;

  constructor() {
    MockSocket.hub.open(this);
    queueMicrotask(() => this.onopen?.(new Event("open")));
  }
  send(text: string): void {
    const frame = JSON.parse(text) as { t: string };
    if (["ticket", "subscribe", "unsubscribe", "ping"].includes(frame.t)) MockSocket.hub.hear(this, text);
    else this.onmessage?.(new MessageEvent("message", { data: text }));
  }
  close(): void {
    MockSocket.hub.close(this);
  }
}
