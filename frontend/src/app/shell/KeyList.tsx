/** The keyboard map of this page, as it is. */

import { Modal } from "../../ui/Modal.tsx";
import { Button } from "../../ui/parts.tsx";
import type { Key } from "./keys.ts";

export function KeyList({ keys, onClose }: { keys: Key[]; onClose: () => void }) {
  return (
    <Modal label="Keys" className="keylist" onClose={onClose}>
      <header className="row">
        <h2 className="head grow">Keys</h2>
        <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
      </header>
      <dl>
        {keys.map((key) => (
          <div key={key.keys} className="row">
            <dt>
              {key.keys === " " ? <kbd>Space</kbd> : key.keys.split(" ").map((part) => <kbd key={part}>{part}</kbd>)}
            </dt>
            <dd>{key.does}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
