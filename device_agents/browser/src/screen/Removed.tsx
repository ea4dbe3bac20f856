/** The device is no longer part of the fleet: what that means, and how it joins again. */
import type { Ended } from "../agent/connection.ts";
import type { Opened } from "../boot.ts";

export function Removed({ opened, why }: { opened: Opened; why: Ended }) {
  const { code } = opened;
  const again = async () => {
    // The hub refuses the old key for good; a new one is made when the page opens.
    await opened.store.empty();
    if (code !== null) history.replaceState(null, "", `#join=${encodeURIComponent(code)}`);
    location.reload();
  };
  return (
    <section className="card alert" role="alert">
      <h2>
        {why.code === "device_revoked" ? "This device was removed from the fleet" : "The hub does not know this device"}
      </h2>
      <p>{why.reason}. Nothing is asked of it any more.</p>
      <p>
        {code === null
          ? "To join again, open Fleet at the hub, choose Add device, and scan the code with this device's camera, or type it here."
          : "The address carries a code with which it can join again, as a new device."}
      </p>
      <button type="button" className="big primary" onClick={() => void again()}>
        {code === null ? "Join again" : "Join again with this code"}
      </button>
    </section>
  );
}
