/**
 * Leaving the hub: the request that it forgets this device, signed with the device's own key, so that nobody else asks.
 *
 * Only an answer that the hub has signed for this request counts: whoever stands in its place has it forget nothing.
 * Changes nothing here; the page throws the key away afterwards, whether or not the hub has heard.
 */
import { signedBy } from "../protocol/channel.ts";
import { hex, leaveAnswer, leaveRequest } from "../protocol/proof.ts";
import type { Identity } from "./identity.ts";
import { askHub, JoinRefused } from "./joining.ts";

/** @throws JoinRefused where the hub does not answer, knows no such device, or something else answers in its place. */
export async function leaveHub(identity: Identity, hubKey: string, request: typeof fetch): Promise<void> {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const { device } = identity;
  const signature = await identity.sign(leaveRequest({ device, hub: hubKey, nonce }));
  const body = JSON.stringify({ device, nonce, signature });
  const { answer, signature: signed } = await askHub(request, "/agent/leave", { method: "POST", body });
  const answered = leaveAnswer({ answer: answer ?? null, device, hub: hubKey, nonce });
  if (!signedBy(hubKey, String(signed), answered)) {
    throw new JoinRefused(
      "what answers here is not the hub that this tab has joined",
      "Revoke the device on the page of the hub.",
    );
  }
}
