/** Setting the model of another role than the planner, tried before it is kept; its key is never read back. */

import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { ModelRole, ModelState, RoleSetting, SetModel } from "../../../model/types.ts";
import { Labelled } from "../../../ui/parts.tsx";
import { type EndpointDraft, EndpointFields } from "./EndpointFields.tsx";
import { EndpointForm, endpointOf } from "./EndpointForm.tsx";

type OtherRole = Exclude<ModelRole, "planner">;

const ROLES: Readonly<Record<OtherRole, string>> = {
  reviewer: "Reviewer: mends a plan while it runs",
  writer: "Writer: writes the answer in words",
  judge: "Judge: judges results",
  worker: "Worker: makes the turns of goals",
  small: "Small: makes the turns of goals first",
  fallback: "Fallback: stands in where another cannot be reached",
};

/** The roles that can be set here: those that the hub's own settings do not name. */
export function rolesToSet({ given_roles: given = [] }: Pick<ModelState, "given_roles">): OtherRole[] {
  return (Object.keys(ROLES) as OtherRole[]).filter((role) => !given.includes(role));
}

/** The form's fields for a role, from what the page has set for it. */
export function draftOf(one: RoleSetting | undefined): EndpointDraft {
  return { url: one?.url ?? "", model: one?.model ?? "", wire: (one?.wire ?? "") as SetModel["wire"], key: "" };
}

export function RoleForm({ found, onDone }: { found: ModelState; onDone: () => void }) {
  const { hub } = useWorkspace();
  const { say } = useDoing();
  const roles = rolesToSet(found);
  const keptOf = (role: OtherRole) => found.roles?.find((one) => one.role === role);
  const [role, setRole] = useState<OtherRole>(roles[0] ?? "reviewer");
  const kept = keptOf(role);
  const [draft, setDraft] = useState(() => draftOf(kept));
  const wanted = endpointOf(draft);
  const save = async () => {
    await hub.setRole(role, wanted);
    say(`The model of the ${role} is set and counts from now on`);
  };
  const forget = async () => {
    await hub.forgetRole(role);
    say(`The model of the ${role} is forgotten, and its key with it`);
  };
  const keeps = kept?.key && kept.url === draft.url.trim();
  const why = draft.model.trim() ? null : "It needs a model.";
  return (
    <EndpointForm
      label="Set the model of a role"
      draft={draft}
      why={why}
      test={() => hub.tryModel({ ...wanted, role })}
      save={save}
      forget={kept ? forget : undefined}
      onDone={onDone}
    >
      <Labelled label="Role">
        {(id) => (
          <select
            id={id}
            className="input"
            value={role}
            onChange={(event) => {
              const next = event.target.value as OtherRole;
              setRole(next);
              setDraft(draftOf(keptOf(next)));
            }}
          >
            {roles.map((one) => (
              <option key={one} value={one}>
                {ROLES[one]}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      <EndpointFields
        draft={draft}
        onChange={(part) => setDraft((before) => ({ ...before, ...part }))}
        address="Address; empty is the planner's, with its key"
        keyWords={keeps ? "Key (one is kept; leave empty to keep it)" : "Key, if that address needs one"}
      />
    </EndpointForm>
  );
}
