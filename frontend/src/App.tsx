/** The whole page: the sign-in for somebody who is not signed in, else the page that belongs to the address. */
import { useCallback, useEffect, useState } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { DoingProvider } from "./app/actions/Actions.tsx";
import { keepFocus } from "./app/shell/focus.ts";
import { MissingPage } from "./app/shell/Missing.tsx";
import { Shell } from "./app/shell/Shell.tsx";
import { watchNeeds } from "./app/waiting/needs.ts";
import { WorkspaceContext } from "./app/workspace/context.ts";
import { forget, onForgotten, read, tellSignedIn } from "./app/workspace/lastKnown.ts";
import { lazily } from "./app/workspace/lazily.tsx";
import { keepPage } from "./app/workspace/offline.ts";
import { forgetOutputs } from "./app/workspace/personal.ts";
import { asProblem } from "./app/workspace/resource.ts";
import { Workspace } from "./app/workspace/workspace.ts";
import { ActivityPage } from "./features/activity/Activity.tsx";
import { AnswerPage } from "./features/answer/AnswerAlone.tsx";
import { ConstellationPage } from "./features/constellation/Constellation.tsx";
import { ConstellationsPage } from "./features/constellation/list/Constellations.tsx";
import { DevicePage } from "./features/fleet/device/Device.tsx";
import { FleetPage } from "./features/fleet/Fleet.tsx";
import { HomePage } from "./features/home/Home.tsx";
import { InboxPage } from "./features/inbox/Inbox.tsx";
import { LabPage } from "./features/lab/Lab.tsx";
import { RecipePage } from "./features/recipes/Recipe.tsx";
import { RecipesPage } from "./features/recipes/Recipes.tsx";
import { NewPage } from "./features/request/New.tsx";
import { SchedulesPage } from "./features/schedules/Schedules.tsx";
import { SettingsPage } from "./features/settings/Settings.tsx";
import { type Invitation, InvitationPage } from "./features/settings/sessions/Invitation.tsx";
import { SignInPage } from "./features/settings/sessions/SignIn.tsx";
import type { Problem } from "./link/rest.ts";
import { setProgram } from "./model/words/commands.ts";
import { Boundary } from "./ui/Boundary.tsx";

const LiveEdit = lazily(
  "The editor of a running plan",
  () => import("./features/constellation/edit/LiveEdit.tsx"),
  (module) => module.default,
  (note) => <Shell title="Edit">{note}</Shell>,
);
const LINK = /^#?\/?(?:#\/)?sign-in\/([^./]+)\.(.+)$/;

/** Takes a sign-in link out of the address, so that its secret stays in no history. */
function takeSignInLink(): { id: string; secret: string } | null {
  const found = LINK.exec(location.hash);
  if (!found?.[1] || !found[2]) return null;
  history.replaceState(null, "", "/");
  return { id: found[1], secret: found[2] };
}

type Stage =
  | { kind: "opening" }
  | { kind: "invited"; invitation: Invitation; accept: () => void }
  | { kind: "out"; problem: Problem | null; ended?: boolean; spoiled?: boolean }
  | { kind: "in"; workspace: Workspace };

export function App() {
  const [stage, setStage] = useState<Stage>({ kind: "opening" });
  const [turn, setTurn] = useState(0);
  const [path] = useLocation();

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` changes when a person tries again.
  useEffect(() => {
    let wanted = true;
    const link = takeSignInLink();
    const leave = (ended: boolean) => {
      workspace.end();
      setStage((held) => (held.kind === "in" ? { kind: "out", problem: null, ended } : held));
    };
    const workspace = new Workspace((ended) => {
      forget();
      leave(ended);
      forgetOutputs();
    });
    const stop = onForgotten(
      () => leave(false),
      () => workspace.session?.principal.id,
    );
    const open = async () => {
      try {
        // Another person may follow in this tab.
        if (link) forget();
        const invitation = link && (await workspace.hub.terms(link.id, link.secret)).invitation;
        if (invitation) {
          if (!wanted) return;
          await new Promise<void>((accept) => setStage({ kind: "invited", invitation, accept }));
          if (wanted) setStage({ kind: "opening" });
        }
        if (link) await workspace.hub.signIn(link.id, link.secret);
        const session = await workspace.hub.session();
        if (!wanted) return;
        workspace.begin(session);
        if (link) tellSignedIn(session.principal.id);
        keepPage();
        setStage({ kind: "in", workspace });
      } catch (error) {
        const problem = asProblem(error);
        const known = problem.code === "hub_unreachable" && !link ? read() : null;
        if (known && wanted) {
          workspace.beginFrom(known);
          setStage({ kind: "in", workspace });
          return;
        }
        setProgram(problem.more.program);
        const unknown = problem.code === "not_signed_in" && !link;
        const ended = unknown && problem.more.session === "ended";
        // The hub tells the places of a form; a person has pasted a link.
        const spoiled = link !== null && problem.code === "bad_request";
        if (wanted) setStage({ kind: "out", problem: unknown || spoiled ? null : problem, ended, spoiled });
      }
    };
    void open();
    return () => {
      wanted = false;
      stop();
      workspace.end();
    };
  }, [turn]);

  const workspace = stage.kind === "in" ? stage.workspace : null;
  useEffect(() => (workspace ? watchNeeds(workspace) : undefined), [workspace]);
  useEffect(keepFocus, []);
  const retry = useCallback(() => {
    setStage({ kind: "opening" });
    setTurn((held) => held + 1);
  }, []);
  // A fresh link pasted into this very tab changes only the part after the #.
  useEffect(() => {
    const hear = () => {
      if (LINK.test(location.hash)) retry();
    };
    addEventListener("hashchange", hear);
    return () => removeEventListener("hashchange", hear);
  }, [retry]);

  if (stage.kind === "invited") return <InvitationPage invitation={stage.invitation} onAccept={stage.accept} />;
  if (stage.kind !== "in") {
    return (
      <SignInPage
        problem={stage.kind === "out" ? stage.problem : null}
        ended={stage.kind === "out" && stage.ended === true}
        spoiled={stage.kind === "out" && stage.spoiled === true}
        working={stage.kind === "opening"}
        onRetry={retry}
      />
    );
  }
  return (
    <WorkspaceContext value={stage.workspace}>
      <DoingProvider>
        <Boundary part="This page" of={path}>
          <Switch>
            <Route path="/">{() => <HomePage />}</Route>
            <Route path="/new">{() => <NewPage />}</Route>
            <Route path="/constellations">{() => <ConstellationsPage />}</Route>
            <Route path="/constellations/:id/edit">{({ id }) => <LiveEdit key={id} id={id} />}</Route>
            <Route path="/constellations/:id/answer/*?">
              {({ id, "*": part }) => <AnswerPage key={id} id={id} part={part || null} />}
            </Route>
            <Route path="/constellations/:id/*?">
              {({ id, "*": rest }) => (
                <ConstellationPage key={id} id={id} task={rest?.startsWith("t/") ? rest.slice(2) : null} />
              )}
            </Route>
            <Route path="/devices">{() => <FleetPage />}</Route>
            <Route path="/fleet">{() => <Redirect to="/devices" replace />}</Route>
            <Route path="/devices/:id">{({ id }) => <DevicePage key={id} id={id} />}</Route>
            <Route path="/recipes">{() => <RecipesPage />}</Route>
            <Route path="/recipes/:name">{({ name }) => <RecipePage key={name} name={name} />}</Route>
            <Route path="/schedules">{() => <SchedulesPage />}</Route>
            <Route path="/inbox">{() => <InboxPage />}</Route>
            <Route path="/activity">{() => <ActivityPage />}</Route>
            <Route path="/lab">{() => <LabPage />}</Route>
            <Route path="/settings">{() => <SettingsPage />}</Route>
            <Route>{() => <MissingPage />}</Route>
          </Switch>
        </Boundary>
      </DoingProvider>
    </WorkspaceContext>
  );
}
