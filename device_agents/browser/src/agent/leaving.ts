/**
 * Leaving the hub: the request that it forgets this device, signed with the device's own key, so that nobody else asks.
 *
 * Changes nothing here; the page throws the key away afterwards, whether or not the hub has heard.
 */
import { hex, leaveRequest } from "../protocol/proof.ts";
import type { Identity } from "./identity.ts";
import { askHub } from "./joining.ts";

/** @throws JoinRefused where the hub does not answer, or knows no such device. */
export async function leaveHub(identity: Identity, hubKey: string, request: typeof fetch): Promise<void> {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const signature = await identity.sign(leaveRequest({ device: identity.device, hub: hubKey, nonce }));
  const body = JSON.stringify({ device: identity.device, nonce, signature });
  await askHub(request, "/agent/leave", { method: "POST", body });
}
