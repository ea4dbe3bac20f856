/** Inviting a person: a name and what they may do, then the link that opens the page once. The link is shown this once. */
import { useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import type { SignInLink } from "../../../model/types.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Button, CopyLine, Labelled, ProblemNote, QrCode } from "../../../ui/parts.tsx";
import {
  mayGive,
  mayWords,
  OWN,
  PRESETS,
  presetOf,
  RECIPE,
  roleOf,
  SOME_RECIPES,
  scopesOf,
  whyNotYet,
} from "./allowed.ts";
import { Choice } from "./Choice.tsx";

/** Whether an address opens on the hub's own computer alone. */
export const onlyHere = (made: Pick<SignInLink, "url" | "lan_url">): boolean =>
  !made.lan_url && /^https?:\/\/(127\.|localhost|\[::1\])/.test(made.url);

export function InviteDialog({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const { hub, session } = useWorkspace();
  const held = session?.scopes ?? [];
  const given = (preset: string) =>
    (PRESETS.find(({ id }) => id === preset)?.scopes ?? []).filter((scope) => mayGive(held, scope));
  const [name, setName] = useState("");
  const [preset, setPreset] = useState<string>(PRESETS[0].id);
  const [chosen, setChosen] = useState<readonly string[]>(() => given(PRESETS[0].id));
  const role = roleOf(chosen);
  const scopes = scopesOf(chosen, held);
  const toggle = (scope: string, on: boolean) => {
    const next = on ? [...chosen, scope] : chosen.filter((one) => one !== scope);
    setChosen(next);
    // The list of recipes stays while one is exchanged for another.
    if (!scope.startsWith(RECIPE) && preset !== SOME_RECIPES) setPreset(presetOf(next, held));
  };
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<SignInLink | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const why = whyNotYet(name, chosen, preset);
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
      const wider = await hub.invite(name, role, scopes);
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
          if (!why && !made) void asking(() => hub.invite(name, role, scopes));
        }}
      >
        <div className="row dialog-head">
          <h2 className="head grow">{title}</h2>
          <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
        </div>
        <div className="body">
          {made ? (
            <Link
              made={made}
              name={name}
              chosen={chosen}
              scopes={scopes}
              onOpen={() => void openNetwork()}
              busy={busy}
            />
          ) : (
            <div className="clockform">
              <Name name={name} onName={setName} />
              <Choice
                preset={preset}
                chosen={chosen}
                held={held}
                onPreset={(next) => {
                  setPreset(next);
                  if (next !== OWN) setChosen(given(next));
                }}
                onToggle={toggle}
              />
            </div>
          )}
          {problem && <ProblemNote problem={problem} />}
        </div>
        <div className="row dialog-foot">
          <Button onClick={onClose}>{made ? "Done" : "Cancel"}</Button>
          {!made && (
            <Button asks="sessions" kind="primary" type="submit" why={why} aria-busy={busy || undefined}>
              Make the link
            </Button>
          )}
        </div>
      </form>
    </Modal>
  );
}

function Name({ name, onName }: { name: string; onName: (name: string) => void }) {
  const wrong = name ? whyNotYet(name, [], OWN) : null;
  return (
    <Labelled label="Name">
      {(id) => (
        <>
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
          {wrong && <p className="small word tone-vermilion">{wrong}</p>}
        </>
      )}
    </Labelled>
  );
}

interface LinkProps {
  made: SignInLink;
  name: string;
  chosen: readonly string[];
  scopes: readonly string[];
  busy: boolean;
  onOpen: () => void;
}

function Link({ made, name, chosen, scopes, busy, onOpen }: LinkProps) {
  const line = [`starloom person invite ${name} --role ${roleOf(chosen)}`, ...scopes.map((one) => `--scope ${one}`)];
  return (
    <>
      <p>
        Send this to {name}. It opens the page once, within a day, and is not shown again. With it, {name} may:
      </p>
      <ul className="plainlist">
        {mayWords(chosen).map((words) => (
          <li key={words}>{words}</li>
        ))}
      </ul>
      <CopyLine line={made.lan_url || made.url} label="the link" />
      {onlyHere(made) ? (
        <div className="row wrap">
          <p className="small">It opens on the hub's own computer only. For another one in the same network:</p>
          <Button asks="access" kind="primary" why={busy ? "The listener is being opened." : null} onClick={onOpen}>
            Allow this network
          </Button>
        </div>
      ) : (
        <QrCode shape={made.qr} label={`The link for ${name}, for the camera of a phone`} />
      )}
      <p className="small dim">It ends when your own sign-in on this page ends.</p>
      <details className="small">
        <summary>For the terminal: a link that lasts longer</summary>
        <CopyLine line={line.join(" ")} label="the line that makes a lasting link" />
      </details>
    </>
  );
}
