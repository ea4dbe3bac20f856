/** The page from its sources with the mock hub behind it: `npm run dev:mock`, then open the address that is printed. */
import type { IncomingMessage, ServerResponse } from "node:http";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { WebSocketServer } from "ws";
import { rooted } from "../scripts/rooted.ts";
import { T0 } from "./logBuilder.ts";
import { MockHub } from "./mockHub.ts";
import { CONSTELLATION } from "./scenario.ts";

function mockHub(): Plugin {
  const hub = new MockHub({
    question: process.env.QUESTION === "1",
    shiftMs: Date.now() - T0 - 6000,
    empty: process.env.EMPTY === "1",
  });
  return {
    name: "starloom-mock-hub",
    configureServer(server) {
      const sockets = new WebSocketServer({ noServer: true });
      server.httpServer?.on("upgrade", (request, socket, head) => {
        if (request.url !== "/api/v1/live") return;
        sockets.handleUpgrade(request, socket, head, (client) => {
          hub.open(client);
          client.on("message", (data) => hub.hear(client, data.toString()));
          client.on("close", () => hub.close(client));
        });
      });
      setInterval(
        () => hub.beside(CONSTELLATION, "progress", "send.3", 1, { done_bytes: 192_000, fraction_1000: 500, note: "" }),
        1000,
      ).unref();
      server.middlewares.use("/mock/knock", (_request, response) => {
        hub.knock();
        response.end("asked");
      });
      server.middlewares.use("/api/v1", async (request: IncomingMessage, response: ServerResponse) => {
        let text = "";
        for await (const chunk of request) text += String(chunk);
        const { status, body } = hub.answer(
          request.method ?? "GET",
          `/api/v1${request.url}`,
          text ? JSON.parse(text) : undefined,
        );
        response.writeHead(status, { "Content-Type": status < 400 ? "application/json" : "application/problem+json" });
        response.end(JSON.stringify(body));
      });
    },
  };
}

export default defineConfig({
  plugins: [react(), rooted(), mockHub()],
  server: { host: "127.0.0.1", port: Number(process.env.PORT ?? 5174), strictPort: true },
});
