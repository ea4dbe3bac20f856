/**
 * Puts the tab's agent together: store, lock, key, hub - in this order, each with its own way to say no.
 * Wiring only; what it returns is what the page shows.
 */
import { Agent } from "./agent/agent.ts";
import type { Socket } from "./agent/connection.ts";
import { type Identity, loadOrMake } from "./agent/identity.ts";
import { codeIn, type Joined, nameOf } from "./agent/joining.ts";
import { surroundings } from "./agent/offer.ts";
import { type Policy, policyOf } from "./agent/policy.ts";
import { Ledger } from "./ledger/ledger.ts";
import { Store } from "./ledger/store.ts";
import { watchBattery } from "./shell/battery.ts";
import { after, every, nowS, pause } from "./shell/clock.ts";
import { type Hold, takeLock } from "./shell/lock.ts";
import { TOOLS } from "./tools/registry.ts";

export interface Opened {
  store: Store;
  hold: Hold;
  identity: Identity;
  joined: Joined | null;
  policy: Policy;
  /** The join code that the page's address carried; it is out of the address bar by now. */
  code: string | null;
}

/** Null if another tab has the lock. @throws StoreFault where the browser keeps nothing. */
export async function open(steal = false): Promise<Opened | null> {
  const hold = await takeLock(steal);
  if (hold === null) return null;
  const store = await Store.open();
  const typedCode = takeCode();
  const identity = await loadOrMake(store);
  const joined = (await store.get<Joined>("meta", "hub")) ?? null;
  // A page that is reloaded while it waits for the approval goes on waiting; the hub knows the key by then.
  const code = typedCode ?? (joined === null ? ((await store.get<string>("meta", "code")) ?? null) : null);
  const policy = policyOf(await store.get<Partial<Policy>>("meta", "policy"));
  // Asked for so that the key and open work outlive a browser that tidies up; it may say no.
  void navigator.storage?.persist?.();
  return { store, hold, identity, joined, policy, code };
}

/** The code in the page's address, which is taken out of the address bar. */
export function takeCode(): string | null {
  const code = codeIn(location.hash);
  if (location.hash !== "") history.replaceState(null, "", location.pathname);
  return code;
}

/** The agent of a tab that has joined, ready to run; what an earlier life left open is judged already. */
export async function agentOf(opened: Opened, joined: Joined, policy: Policy): Promise<Agent> {
  const ledger = await Ledger.open(opened.store);
  const agent = new Agent({
    identity: opened.identity,
    hub: { key: joined.hubKey, name: joined.name },
    ledger,
    tools: TOOLS,
    policy,
    around: surroundings,
    facts: { browser: nameOf(navigator.userAgent), secure_context: String(globalThis.isSecureContext) },
    dial,
    clock: nowS,
    after,
    every,
    pause,
    request: (input, init) => fetch(input, init),
  });
  await agent.recover();
  return agent;
}

function dial(): Socket {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${location.host}/aip/v1`) as Socket;
}

/** Keep the agent awake to what its page goes through; returns what undoes it. */
export function watchPage(agent: Agent): () => void {
  // A phone puts a page to sleep soon after it is out of sight; a computer's tab works on.
  const sleepsUnseen = matchMedia("(pointer: coarse)").matches;
  const seen = () => {
    if (document.visibilityState === "visible") {
      agent.hurry();
      agent.suspending(false);
      agent.offerAgain();
    } else if (sleepsUnseen) {
      agent.suspending(true);
    }
  };
  const frozen = () => agent.suspending(true);
  const online = () => agent.hurry();
  document.addEventListener("visibilitychange", seen);
  document.addEventListener("freeze", frozen);
  window.addEventListener("online", online);
  const stopBattery = watchBattery((percent) => agent.charged(percent));
  return () => {
    stopBattery();
    document.removeEventListener("visibilitychange", seen);
    document.removeEventListener("freeze", frozen);
    window.removeEventListener("online", online);
  };
}
