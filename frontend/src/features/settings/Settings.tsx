/** Settings: the look, what is allowed from now on, sessions and tokens. */
import { Link, useLocation } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { type Density, type Theme, useLook } from "../../app/shell/theme.ts";
import { useNow, useWorkspace } from "../../app/workspace/context.ts";
import { forgetEverywhere } from "../../app/workspace/lastKnown.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { msOf } from "../../model/words/times.ts";
import { age } from "../../model/words/words.ts";
import { Button, CopyLine, ProblemNote, Tabs } from "../../ui/parts.tsx";
import { useLab } from "../lab/BreakSomething.tsx";
import { ModelCard } from "./model/ModelCard.tsx";
import { StandingCard } from "./Standing.tsx";
import { SecretCard } from "./secrets/SecretCard.tsx";
import { browserName } from "./sessions/browsers.ts";

export function SettingsPage() {
  const workspace = useWorkspace();
  const { report, say } = useDoing();
  const [, go] = useLocation();
  const look = useLook();
  const mayBreak = useLab();
  const now = useNow(10_000);
  const role = workspace.session?.role ?? "";
  const owns = role === "owner";
  const runs = owns || role === "operator";
  const tokens = useResource(runs ? "tokens" : null, () => workspace.hub.tokens());
  const good = (tokens.value?.items ?? []).filter(
    (token) => !token.revoked_at && (!token.expires_at || msOf(token.expires_at) > now),
  );
  return (
    <Shell title="Settings">
      <div className="page cards">
        <section className="card">
          <header>
            <h2>Look</h2>
          </header>
          <div className="setting">
            <span>Theme</span>
            <Tabs<Theme>
              look="seg"
              label="Theme"
              value={look.theme}
              onChange={look.setTheme}
              choices={[
                { value: "system", label: "System" },
                { value: "light", label: "Light" },
                { value: "dark", label: "Dark" },
              ]}
            />
          </div>
          <div className="setting">
            <span>Rows</span>
            <Tabs<Density>
              look="seg"
              label="Rows"
              value={look.density}
              onChange={look.setDensity}
              choices={[
                { value: "comfortable", label: "Comfortable" },
                { value: "compact", label: "Compact" },
              ]}
            />
          </div>
        </section>
        {owns && <ModelCard />}
        {runs && <SecretCard />}
        <StandingCard />
        {mayBreak && (
          <section className="card" aria-label="Lab">
            <header>
              <h2>Lab</h2>
            </header>
            <div className="setting">
              <span>Break simulated devices on purpose, run scenarios, and see what becomes of the work.</span>
              <Link className="btn" href="/lab">
                Open the lab
              </Link>
            </div>
          </section>
        )}
        {runs && (
          <section className="card">
            <header>
              <h2>Sessions and tokens</h2>
            </header>
            {tokens.problem && <ProblemNote problem={tokens.problem} />}
            {good.map((token) => (
              <div key={token.id} className="item">
                <span />
                <span className="cut">
                  <b className="strong cut" title={token.label}>
                    {[token.for?.name, browserName(token.label ?? "") || token.label].filter(Boolean).join(", ") ||
                      token.id}
                  </b>{" "}
                  {token.id === workspace.session?.token && <span className="chip">this page</span>}
                </span>
                <Button
                  asks
                  onClick={async () => {
                    try {
                      await workspace.hub.revokeToken(token.id);
                      say("Revoked");
                      tokens.reload();
                    } catch (error) {
                      report(error);
                    }
                  }}
                >
                  Revoke
                </Button>
                <span className="sub small">
                  {[
                    token.kind,
                    token.role,
                    token.last_used_at ? `used ${age(msOf(token.last_used_at), now)}` : "",
                    token.expires_at ? `until ${token.expires_at.slice(0, 10)}` : "",
                  ]
                    .filter(Boolean)
                    .join(", ")}
                </span>
              </div>
            ))}
            <div className="item">
              <span />
              <span className="sub small">A new token is made on the command line:</span>
              <span className="sub">
                <CopyLine line="starloom token create --role viewer --ttl 30d" label="the line that makes a token" />
              </span>
            </div>
          </section>
        )}
        <section className="card">
          <header>
            <h2>{workspace.session?.principal.name ?? "You"}</h2>
            <span className="dim">{workspace.session?.role}</span>
          </header>
          <div className="setting">
            <span>
              This page is signed in.
              {!owns && ` You see your own settings as ${role}; an owner sets the model and changes roles.`}
            </span>
            <Button
              asks="anyone"
              onClick={async () => {
                try {
                  await workspace.hub.signOut();
                } catch (error) {
                  report(error);
                  return;
                }
                workspace.end();
                forgetEverywhere();
                go("/");
                location.reload();
              }}
            >
              Sign out
            </Button>
          </div>
        </section>
      </div>
    </Shell>
  );
}
