/** The ways to bring a device here: a line for its terminal, a line for one's own with ssh, a phone's camera. */

import { useEffect, useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import type { LanRow, NewEnrollment, RefusedRow } from "../../../model/types.ts";
import { Button, CopyLine, ProblemNote, QrCode, Tabs } from "../../../ui/parts.tsx";

const WAYS = { line: "One command", ssh: "By ssh", phone: "A phone" };
const SHELLS = { unix: "Linux, macOS, WSL", windows: "Windows" };
const WHERES = { lan: "In this network", here: "This computer" };
export type Way = keyof typeof WAYS;
type Shell = keyof typeof SHELLS;
type Where = keyof typeof WHERES;

/** The way that an address names, or the line. */
export const wayOf = (text: string | null): Way => (text !== null && text in WAYS ? (text as Way) : "line");

interface JoinWaysProps {
  made: NewEnrollment | null;
  way: Way;
  onWay: (way: Way) => void;
  /** Another code is wanted, with the ways that there are now. */
  onRenew: () => void;
}

export function JoinWays({ made, way, onWay, onRenew }: JoinWaysProps) {
  return (
    <>
      <OneOf label="How it joins" words={WAYS} value={way} onChange={onWay} />
      {made && way === "line" && <ByLine made={made} onRenew={onRenew} />}
      {made && way === "ssh" && <BySsh line={made.ssh_line} />}
      {made && way === "phone" && <ByPhone made={made} onRenew={onRenew} />}
    </>
  );
}

interface OneOfProps<T extends string> {
  label: string;
  /** The choices in their order, each with its words. */
  words: Record<T, string>;
  value: T;
  onChange: (value: T) => void;
}

function OneOf<T extends string>({ label, words, value, onChange }: OneOfProps<T>) {
  const choices = (Object.keys(words) as T[]).map((one) => ({ value: one, label: words[one] }));
  return <Tabs<T> look="seg" label={label} value={value} onChange={onChange} choices={choices} />;
}

function ByLine({ made, onRenew }: { made: NewEnrollment; onRenew: () => void }) {
  const [shell, setShell] = useState<Shell>(() => (navigator.userAgent.includes("Windows") ? "windows" : "unix"));
  const [where, setWhere] = useState<Where>("lan");
  const lines = made.lan && where === "lan" ? made.lan : made;
  const onlyHere = !made.lan && isLoopback(made.url);
  return (
    <>
      <OneOf label="System" words={SHELLS} value={shell} onChange={setShell} />
      {made.lan && isLoopback(made.url) && (
        <OneOf label="Where the device is" words={WHERES} value={where} onChange={setWhere} />
      )}
      {shell === "windows" && (
        <p className="small">
          On Windows itself the agent joins and runs no tools yet. To use the computer, open WSL and take the line for
          Linux.
        </p>
      )}
      <CopyLine line={shell === "windows" ? lines.windows_line : lines.line} label="the join line" whole />
      {lines === made && isLoopback(made.url) && <OwnTunnel url={made.url} />}
      <p className="small dim">
        It makes its own folder, needs Python 3.11, asks on the device what it may do, and starts the agent. With{" "}
        <code className="mono nowrap">--dry-run</code> it only says what it would do.
      </p>
      {onlyHere && (
        <>
          <p className="small">This line works on the hub's own computer. For another one in the same network:</p>
          <Allow text="Allow this network" onRenew={onRenew} />
        </>
      )}
    </>
  );
}

/** The line of a hub that listens on its own computer works wherever a tunnel leads to that address. */
function OwnTunnel({ url }: { url: string }) {
  const { host, port } = new URL(url);
  return (
    <details className="small">
      <summary>On a server, through a tunnel of your own</summary>
      <p>Type this on the hub's computer, and then the line above on the server. Keep the tunnel open.</p>
      <CopyLine line={`ssh -R ${port || 80}:${host} user@host`} label="the line of the tunnel" whole />
    </details>
  );
}

function BySsh({ line }: { line: string }) {
  return (
    <>
      <CopyLine line={line} label="the ssh line" whole />
      <p className="small dim">
        Type it on the hub's computer, with your server in place of user@host. Your own ssh brings the agent there, and
        a tunnel carries it: no port, no certificate, nothing to compare. It needs Python 3.11 there.
      </p>
      <p className="small dim">
        It may only look there, unless you add what it may do, such as{" "}
        <code className="mono">--profile files --folder /srv/backups</code>.
      </p>
    </>
  );
}

function ByPhone({ made, onRenew }: { made: NewEnrollment; onRenew: () => void }) {
  const { phone } = made;
  if (!phone.url || !phone.qr)
    return (
      <>
        <p className="small">{sentence(phone.why)}</p>
        <Allow text="Allow phones" onRenew={onRenew} />
        <p className="small dim">
          The hub then also listens in this network, by HTTPS, at every start. A device still needs a code and your
          approval.
        </p>
      </>
    );
  return (
    <>
      <QrCode shape={phone.qr} label="Scan this with the phone's camera" />
      <p className="small">Scan it with the phone's camera. Its browser becomes the device; nothing is installed.</p>
      {phone.warning && (
        <details className="small">
          <summary>The browser will warn once</summary>
          <p>{phone.warning}</p>
          <p>The key of the certificate, in words:</p>
          <p className="words">{phone.words}</p>
        </details>
      )}
      <CopyLine line={phone.url} label="the phone's address" />
    </>
  );
}

function Allow({ text, onRenew }: { text: string; onRenew: () => void }) {
  const { hub } = useWorkspace();
  const [busy, setBusy] = useState(false);
  // Here and not over the page: it concerns this way of joining alone, and is gone with it.
  const [problem, setProblem] = useState<Problem | null>(null);
  const open = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await hub.openLan();
      onRenew();
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button
        asks="access"
        kind="primary"
        why={busy ? "The listener is being opened." : null}
        onClick={() => void open()}
      >
        {text}
      </Button>
      {problem && <ProblemNote problem={problem} />}
    </>
  );
}

/** The listener of the local network in one line, with the way to close it; nothing while it is closed. */
export function LanLine() {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [lan, setLan] = useState<LanRow | null>(null);
  useEffect(() => {
    const gone = new AbortController();
    hub.lan(gone.signal).then(setLan, () => setLan(null));
    return () => gone.abort();
  }, [hub]);
  if (!lan?.open && !lan?.fault) return null;
  const close = async () => {
    try {
      setLan(await hub.closeLan());
      say("The local network's listener is closed.");
    } catch (error) {
      report(asProblem(error));
    }
  };
  return (
    <p className="small dim row wrap">
      <span className="grow">
        {lan.open ? `Open for this network at ${lan.url}.` : `Not open for this network: ${lan.fault}.`}
      </span>
      <Button asks="access" kind="quiet" onClick={() => void close()}>
        {lan.open ? "Close it" : "Do not open it again"}
      </Button>
    </p>
  );
}

/** Which devices were refused with this code, and why: the same words that their screens show. */
export function useRefused(id: string | undefined, waiting: boolean): RefusedRow[] {
  const { hub, changes } = useWorkspace();
  const [refused, setRefused] = useState<RefusedRow[]>([]);
  useEffect(() => {
    if (!id || !waiting) return;
    const gone = new AbortController();
    const look = () =>
      hub.enrollment(id, gone.signal).then(
        (found) => setRefused(found.refused),
        () => undefined, // read again when the link is back; the page's own sign shows that the hub is away
      );
    void look();
    const end = changes.on(["refusals"], () => void look());
    return () => {
      gone.abort();
      end();
    };
  }, [hub, changes, id, waiting]);
  return refused;
}

export function isLoopback(url: string): boolean {
  return /^https?:\/\/(127\.[\d.]+|localhost|\[::1\])(:|\/|$)/.test(url);
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
