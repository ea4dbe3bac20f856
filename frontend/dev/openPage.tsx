/** Opens the page at an address against the mock hub, as a test of components sees it. */
import { render } from "@testing-library/react";
import { vi } from "vitest";
import { App } from "../src/App.tsx";
import { MockHub, type MockOptions } from "./mockHub.ts";
import { MockSocket } from "./mockSocket.ts";

export function openPage(path: string, options: MockOptions = {}): MockHub {
  const hub = new MockHub(options);
  MockSocket.hub = hub;
  vi.stubGlobal("WebSocket", MockSocket);
  vi.stubGlobal("fetch", async (input: string, init: RequestInit = {}) => {
    const { status, body } = hub.answer(
      init.method ?? "GET",
      String(input),
      init.body ? JSON.parse(String(init.body)) : undefined,
    );
    return new Response(JSON.stringify(body), { status });
  });
  history.replaceState(null, "", path);
  render(<App />);
  return hub;
}
