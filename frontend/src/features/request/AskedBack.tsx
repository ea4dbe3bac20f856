/** Questions that a planner asked about earlier words, on the page where they were sent from. */
import { Link } from "wouter";
import { useNeeds } from "../../app/waiting/needs.ts";
import { QuestionCard } from "../inbox/questions/Questions.tsx";

/** The Inbox has all of them. */
const ASKED_MOST = 3;

/** Questions of a planner about words that were sent from here before: they wait for an answer, not for a plan. */
export function AskedBack() {
  const asked = useNeeds().items.filter((need) => need.kind === "planner");
  if (asked.length === 0) return null;
  return (
    <section className="card" aria-label="Asked while planning">
      <header>
        <h2>Asked while planning</h2>
      </header>
      {asked.slice(0, ASKED_MOST).map((need) => (
        <QuestionCard
          key={`${need.constellation}:${need.id}`}
          question={need}
          constellation={need.constellation}
          origin={
            <Link className="link" href={`/constellations/${need.constellation}`}>
              {need.name || "The request"}
            </Link>
          }
        />
      ))}
    </section>
  );
}
