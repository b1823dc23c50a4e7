/** Shows an error of the console itself in place of the page that caused it. */
import { Component, type ComponentChildren } from "preact";
import { errorMessage } from "../api/client";
import { Failure } from "./feedback";

export class ErrorBoundary extends Component<{ children: ComponentChildren }, { message: string }> {
  override state = { message: "" };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ message: errorMessage(error) || "unknown error" });
  }

  override render(): ComponentChildren {
    if (!this.state.message) return this.props.children;
    return <Failure page title="This page has a defect" message={this.state.message} />;
  }
}
