/** Settings: the person who is signed in, the look, what is allowed from now on, sessions and tokens. */
import { Link, useLocation } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { type Density, type Theme, useLook } from "../../app/shell/theme.ts";
import { olderRights } from "../../app/waiting/olderRights.ts";
import { useWorkspace } from "../../app/workspace/context.ts";
import { forgetEverywhere } from "../../app/workspace/lastKnown.ts";
import { holds, UNKNOWN } from "../../ui/away.tsx";
import { Button, Tabs } from "../../ui/parts.tsx";
import { useLab } from "../lab/BreakSomething.tsx";
import { DiskCard } from "./DiskCard.tsx";
import { ModelCard } from "./model/ModelCard.tsx";
import { StandingCard } from "./Standing.tsx";
import { SecretCard } from "./secrets/SecretCard.tsx";
import { PeopleCard } from "./sessions/PeopleCard.tsx";
import { SessionsCard } from "./sessions/SessionsCard.tsx";

export function SettingsPage() {
  const workspace = useWorkspace();
  const { report } = useDoing();
  const [, go] = useLocation();
  const look = useLook();
  const mayBreak = useLab();
  const role = workspace.session?.role ?? "";
  const owns = role === "owner";
  const runs = owns || role === "operator";
  return (
    <Shell title="Settings">
      <div className="page cards settings">
        <section className="card">
          <header>
            <h2>{workspace.session?.principal.name ?? "You"}</h2>
            <span className="dim">{workspace.session?.role}</span>
          </header>
          <div className="setting">
            <span>
              {olderRights(workspace.session) || "This page is signed in."}
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
        {runs && holds(workspace.session ?? UNKNOWN, "fleet") && <DiskCard />}
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
        {owns && holds(workspace.session ?? UNKNOWN, "access") && <PeopleCard />}
        {runs && holds(workspace.session ?? UNKNOWN, "access") && <SessionsCard />}
      </div>
    </Shell>
  );
}
