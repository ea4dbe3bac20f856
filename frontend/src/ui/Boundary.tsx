/**
 * Keeps a failure of one part to that part: the rest of the page, its menu and its other controls stay.
 *
 * React offers this to classes alone. The part is drawn again when `of` changes or a person tries again.
 */
import { Component, type ReactNode } from "react";

interface Props {
  /** The part in words, for the sentence. */
  part: string;
  /** The identity of what is drawn: a part that failed is tried again once this value is another. */
  of: string;
  children: ReactNode;
}

interface State {
  failed: string | null;
  of: string;
}

export class Boundary extends Component<Props, State> {
  override state: State = { failed: null, of: this.props.of };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { failed: error instanceof Error ? error.message : "an unknown failure" };
  }

  static getDerivedStateFromProps(props: Props, state: State): State | null {
    return props.of === state.of ? null : { failed: null, of: props.of };
  }

  override render() {
    if (this.state.failed === null) return this.props.children;
    return (
      <div className="card stack" role="alert">
        <p className="strong">{this.props.part} cannot be shown here.</p>
        <p className="dim">
          The page failed at it. Nothing changed on the hub, and the command line still shows it; text that was typed
          here and not kept is gone. Cause: {this.state.failed.slice(0, 200)}
        </p>
        <p>
          <button type="button" className="btn" onClick={() => this.setState({ failed: null })}>
            Try again
          </button>
        </p>
      </div>
    );
  }
}
