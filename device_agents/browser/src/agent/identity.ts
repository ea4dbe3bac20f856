/**
 * The key of this device: made in this tab, kept in its own store, the device's id is derived from it.
 *
 * Where the browser has Ed25519 the private half can be used but never read, not even by this page. Elsewhere (older
 * browsers, plain HTTP) a library signs with 32 bytes out of the store; the page says which of the two it is.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import type { Store } from "../ledger/store.ts";
import { deviceId, toBase64 } from "../protocol/proof.ts";

type Kept = { kind: "browser"; pair: CryptoKeyPair; raw: Uint8Array } | { kind: "library"; secret: Uint8Array };

export interface Identity {
  /** The raw public key in base64. */
  key: string;
  raw: Uint8Array;
  device: string;
  /** Differs for each life of the tab. */
  instance: string;
  /** Whether the private half can be read by nobody. */
  sealed: boolean;
  sign(data: Uint8Array<ArrayBuffer>): Promise<string>;
}

/** Read the key of this browser, or make it. */
export async function loadOrMake(store: Store, subtle: SubtleCrypto | null = crypto.subtle ?? null): Promise<Identity> {
  let stored = await store.get<Kept>("meta", "key");
  if (stored === undefined) {
    stored = (await madeByBrowser(subtle)) ?? { kind: "library", secret: ed25519.utils.randomSecretKey() };
    await store.write([{ table: "meta", key: "key", value: stored }]);
  }
  return identityOf(stored, subtle);
}

async function madeByBrowser(subtle: SubtleCrypto | null): Promise<Kept | null> {
  if (subtle === null) return null;
  try {
    const pair = (await subtle.generateKey("Ed25519", false, ["sign", "verify"])) as CryptoKeyPair;
    return { kind: "browser", pair, raw: new Uint8Array(await subtle.exportKey("raw", pair.publicKey)) };
  } catch (error) {
    // Anything but "I do not know this algorithm" is a fault that must be seen.
    if (error instanceof DOMException && error.name === "NotSupportedError") return null;
    throw error;
  }
}

function identityOf(stored: Kept, subtle: SubtleCrypto | null): Identity {
  const raw = stored.kind === "browser" ? stored.raw : ed25519.getPublicKey(stored.secret);
  const sign = async (data: Uint8Array<ArrayBuffer>): Promise<string> => {
    if (stored.kind === "library") return toBase64(ed25519.sign(data, stored.secret));
    if (subtle === null) throw new Error("the key of this tab can be used over HTTPS only");
    return toBase64(new Uint8Array(await subtle.sign("Ed25519", stored.pair.privateKey, data)));
  };
  const instance = toBase64(crypto.getRandomValues(new Uint8Array(8)));
  return { key: toBase64(raw), raw, device: deviceId(raw), instance, sealed: stored.kind === "browser", sign };
}
