/** The ways out of a request without a plan: the same words again, and the settings of the model for an owner. */
import { Link } from "wouter";

export function TryAgain({ request, owner }: { request: string; owner: boolean }) {
  return (
    <span className="row wrap">
      <Link className="btn primary" href={`/new?q=${encodeURIComponent(request)}`}>
        Try again
      </Link>
      {owner && (
        <Link className="btn" href="/settings">
          Choose another model
        </Link>
      )}
    </span>
  );
}
