/** Sign-in with a token, or at an issuer: at the address that the user wants to see, or above a page whose session has expired. */
import type { TargetedSubmitEvent, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { errorMessage } from "../api/client";
import { loadIssuers, startSignIn, type Issuer } from "../api/oidc";
import { resumeSession, signIn, signInMessage, signOut, user } from "../api/session";
import { Dialog } from "../components/dialog";
import { Logo } from "../components/header";

export function SignInPage(): VNode {
  useEffect(() => {
    document.title = "Sign in · Polykind";
  }, []);
  return (
    <main class="sign-in" id="content">
      <div class="sign-in-card card">
        <div class="brand">
          <Logo />
          <h1>Polykind</h1>
        </div>
        <p class="hint">Sign in to {location.host}</p>
        {signInMessage.value && (
          <p class="remark note" role="status">
            {signInMessage.value}
          </p>
        )}
        <SignInForm />
      </div>
    </main>
  );
}

/** Asks to sign in again. The page below stays as it is, and its requests wait. */
export function SignInDialog(): VNode {
  return (
    <Dialog title="Sign in again">
      <div class="sign-in">
        <p role="status">{signInMessage.value}</p>
        <p class="hint">You were signed in as {user.value?.name}. This page and your unsaved edits stay.</p>
        <SignInForm />
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </div>
    </Dialog>
  );
}

function SignInForm(): VNode {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const [issuers, setIssuers] = useState<readonly Issuer[]>([]);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    loadIssuers().then(setIssuers, () => undefined);
  }, []);

  async function attempt(action: () => Promise<void>): Promise<void> {
    setBusy(true);
    setError("");
    try {
      await action();
    } catch (failure) {
      setError(explain(failure));
      setBusy(false);
      field.current?.focus();
    }
  }

  function onSubmit(event: TargetedSubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    const token = field.current?.value.trim() ?? "";
    if (!token) setError("Enter a token.");
    else void attempt(() => signIn({ token }));
  }

  return (
    <>
      <form onSubmit={onSubmit}>
        <label for="token">Token</label>
        <input
          id="token"
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          aria-describedby={error ? "sign-in-error" : "token-hint"}
          aria-invalid={error ? true : undefined}
        />
        {error && (
          <p class="field-error" id="sign-in-error" role="alert">
            {error}
          </p>
        )}
        <button class="primary" type="submit" disabled={busy}>
          Sign in
        </button>
      </form>
      {issuers.map((issuer) => (
        <button key={issuer.issuer} type="button" disabled={busy} onClick={() => void attempt(() => startSignIn(issuer))}>
          Sign in at {new URL(issuer.issuer).host}
        </button>
      ))}
      <details id="token-hint">
        <summary>Which token?</summary>
        <div class="hint-list">
          <p>
            The server writes the administrator's token to <code>admin.token</code> in its data directory, <code>.polykind</code> by
            default.
          </p>
          <p>
            For a service account, create one: <code>kubectl create token NAME</code>.
          </p>
          <p>
            With a client certificate in the browser, or through <code>kubectl proxy</code>, no token is needed.{" "}
            <button class="link" type="button" onClick={() => void resumeSession()}>
              Try again without a token
            </button>
          </p>
        </div>
      </details>
    </>
  );
}

function explain(failure: unknown): string {
  const message = errorMessage(failure);
  return message === "Unauthorized" ? "The server does not accept this token." : message;
}
