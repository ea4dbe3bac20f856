/** What an invitation gives, before the person signs in by it. */
import type { InvitationRow } from "../../../model/types.ts";
import { msOf } from "../../../model/words/times.ts";
import { dateTime } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Button } from "../../../ui/parts.tsx";
import { Outside } from "./SignIn.tsx";

export type Invitation = InvitationRow;

export function InvitationPage({ invitation, onAccept }: { invitation: Invitation; onAccept: () => void }) {
  const { by, for: name, may, until } = invitation;
  return (
    <Outside>
      <p className="strong">
        {by ? `${by} invites you` : "You are invited"} to this hub as {name}. You may:
      </p>
      <ul className="plainlist">
        {may.map((words) => (
          <li key={words} className="row">
            <Glyph name="tick" tone="teal" />
            {words}
          </li>
        ))}
      </ul>
      <p className="small dim">
        What you do here is noted with the name {name}, for all who share this hub.
        {until && ` These rights end on ${dateTime(msOf(until))}.`}
      </p>
      <Button kind="primary" large onClick={onAccept}>
        Sign in as {name}
      </Button>
      <p className="small dim">The link works once. If you leave this page now, it stays good for its day.</p>
    </Outside>
  );
}
