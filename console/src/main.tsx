import { render } from "preact";
import "../../src/polykind/toolkit/reporting/design.css";
import "./styles/console.css";
import "./theme";
import { App } from "./app";
import { errorMessage } from "./api/client";
import { finishSignIn } from "./api/oidc";
import { resumeSession, signedOutWith } from "./api/session";
import { HOME } from "./routes";
import { navigate, place, startRouter } from "./router";

async function boot(): Promise<void> {
  startRouter();
  render(<App />, document.getElementById("app")!);
  try {
    if (!(await finishSignIn())) await resumeSession();
  } catch (error) {
    signedOutWith(errorMessage(error));
  }
  if (place.value.path === "/") navigate(HOME, { replace: true });
}

void boot();
