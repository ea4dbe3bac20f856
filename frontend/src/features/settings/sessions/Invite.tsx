/** Inviting a person: a name and a role, then the link that opens the page once. The link is shown this once. */
import { useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import type { SignInLink } from "../../../model/types.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Button, CopyLine, Labelled, ProblemNote } from "../../../ui/parts.tsx";
import { QrCode } from "../../../ui/QrCode.tsx";
import { typed } from "../../../ui/typed.ts";

const ROLES = {
  viewer: "Viewer: looks, and changes nothing",
  approver: "Approver: looks and answers questions",
  operator: "Operator: also starts work and lets devices in",
};
const AS = { viewer: "a viewer", approver: "an approver", operator: "an operator" };
type InvitedRole = keyof typeof ROLES;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/;

/** Whether an address opens on the hub's own computer alone. */
export const onlyHere = (made: Pick<SignInLink, "url" | "lan_url">): boolean =>
  !made.lan_url && /^https?:\/\/(127\.|localhost|\[::1\])/.test(made.url);

export function InviteDialog({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const { hub } = useWorkspace();
  const [name, setName] = useState("");
  const [role, setRole] = useState<InvitedRole>("viewer");
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<SignInLink | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const why = NAME.test(name) ? null : "A name has letters from a to z, digits and . _ @ + -, at most 64.";
  const asking = async (work: () => Promise<SignInLink>) => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      setMade(await work());
      onMade();
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  const openNetwork = () =>
    asking(async () => {
      await hub.openLan();
      // The first link has the address of the hub's own computer. It ends once there is one for the network.
      const wider = await hub.invite(name, role);
      setMade(wider);
      if (made) await hub.revokeToken(made.token);
      return wider;
    });
  const title = made ? `The link for ${name}` : "Invite a person";
  return (
    <Modal label={title} className="scheduling" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!why && !made) void asking(() => hub.invite(name, role));
        }}
      >
        <div className="row dialog-head">
          <h2 className="head grow">{title}</h2>
          <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
        </div>
        <div className="body">
          {made ? (
            <Link made={made} name={name} role={role} onOpen={() => void openNetwork()} busy={busy} />
          ) : (
            <Who name={name} role={role} onName={setName} onRole={setRole} />
          )}
          {problem && <ProblemNote problem={problem} />}
        </div>
        <div className="row dialog-foot">
          <Button onClick={onClose}>{made ? "Done" : "Cancel"}</Button>
          {!made && (
            <Button asks kind="primary" type="submit" why={why} aria-busy={busy || undefined}>
              Make the link
            </Button>
          )}
        </div>
      </form>
    </Modal>
  );
}

interface WhoProps {
  name: string;
  role: InvitedRole;
  onName: (name: string) => void;
  onRole: (role: InvitedRole) => void;
}

function Who({ name, role, onName, onRole }: WhoProps) {
  return (
    <div className="clockform">
      <Labelled label="Name">
        {(id) => (
          <input
            id={id}
            autoComplete="off"
            spellCheck={false}
            maxLength={64}
            // biome-ignore lint/a11y/noAutofocus: this dialog is opened to type here.
            autoFocus
            value={name}
            onChange={(event) => onName(event.target.value)}
          />
        )}
      </Labelled>
      <Labelled label="Role">
        {(id) => (
          <select id={id} value={role} onChange={(event) => onRole(event.target.value as InvitedRole)}>
            {Object.entries(ROLES).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Labelled>
    </div>
  );
}

interface LinkProps {
  made: SignInLink;
  name: string;
  role: InvitedRole;
  busy: boolean;
  onOpen: () => void;
}

function Link({ made, name, role, busy, onOpen }: LinkProps) {
  return (
    <>
      <p>
        Send this to {name}. It opens the page once, within a day, with the rights of {AS[role]}. It is not shown again.
      </p>
      <CopyLine line={made.lan_url || made.url} label="the link" />
      {onlyHere(made) ? (
        <div className="row wrap">
          <p className="small">It opens on the hub's own computer only. For another one in the same network:</p>
          <Button asks kind="primary" why={busy ? "The listener is being opened." : null} onClick={onOpen}>
            Allow this network
          </Button>
        </div>
      ) : (
        <QrCode shape={made.qr} label={`The link for ${name}, for the camera of a phone`} />
      )}
      <p className="small dim">
        It ends when your own sign-in on this page ends. For one that lasts longer, use the command line:{" "}
        <code className="mono">{typed(`starloom person invite ${name} --role ${role}`)}</code>
      </p>
    </>
  );
}
