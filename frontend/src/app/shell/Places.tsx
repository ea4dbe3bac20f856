/** The other places of the page on a phone, behind *More*: each with its sign, Inbox with how much waits. */
import { Link } from "wouter";
import { Icon, type IconName } from "../../ui/Icon.tsx";
import { Modal } from "../../ui/Modal.tsx";

interface PlacesProps {
  places: readonly { path: string; label: string; icon: IconName }[];
  /** How much waits for the person. */
  waiting: number;
  onSearch: () => void;
  onClose: () => void;
}

export function Places({ places, waiting, onSearch, onClose }: PlacesProps) {
  return (
    <Modal label="More places" className="places" onClose={onClose}>
      <nav aria-label="More places">
        {places.map(({ path, label, icon }) => (
          <Link key={path} href={path} onClick={onClose}>
            <Icon name={icon} big />
            <span>{label}</span>
            {path === "/inbox" && waiting > 0 && <span className="badge">{waiting}</span>}
          </Link>
        ))}
        <button type="button" onClick={onSearch}>
          <Icon name="search" big />
          <span>Search and do anything</span>
        </button>
      </nav>
    </Modal>
  );
}
