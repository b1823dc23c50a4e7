/** The signed-in user. The token is kept in sessionStorage: a tab that is closed forgets it. */
import { computed, signal } from "@preact/signals";
import { ApiError, requestJson } from "./client";

export interface User {
  name: string;
  groups: string[];
  /** Where the identity comes from. A client certificate or a proxy adds credentials without the console's help. */
  source: "token" | "browser";
}

const TOKEN_KEY = "polykind.token";

type State = { phase: "starting" } | { phase: "signed-out"; message: string } | { phase: "signed-in"; user: User };

const state = signal<State>({ phase: "starting" });

export const user = computed(() => (state.value.phase === "signed-in" ? state.value.user : null));
export const phase = computed(() => state.value.phase);
/** A sentence for the sign-in page: why the user has to sign in again. */
export const signInMessage = computed(() => (state.value.phase === "signed-out" ? state.value.message : ""));

export function sessionToken(): string | null {
  return sessionStorage.getItem(TOKEN_KEY);
}

interface SelfSubjectReview {
  status?: { userInfo?: { username?: string; groups?: string[] } };
}

/** Return the user that the server sees in a request with this token, or null if the server sees an anonymous one. */
async function whoAmI(token: string | null): Promise<User | null> {
  const review = await requestJson<SelfSubjectReview>("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    method: "POST",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    token,
  });
  const info = review.status?.userInfo;
  if (!info?.username || info.username === "system:anonymous") return null;
  return { name: info.username, groups: info.groups ?? [], source: token ? "token" : "browser" };
}

/** Resume the session: with the stored token, else with credentials that the browser sends by itself. */
export async function resumeSession(): Promise<void> {
  const token = sessionToken();
  for (const credential of token ? [token, null] : [null]) {
    try {
      const found = await whoAmI(credential);
      if (found) {
        state.value = { phase: "signed-in", user: found };
        return;
      }
    } catch (error) {
      if (error instanceof ApiError && error.unreachable) {
        state.value = { phase: "signed-out", message: error.message };
        return;
      }
    }
    sessionStorage.removeItem(TOKEN_KEY);
  }
  state.value = { phase: "signed-out", message: token ? "The session has ended. Sign in again to continue." : "" };
}

/** Sign in with a bearer token. Throw ApiError if the server does not accept it. */
export async function signIn(token: string): Promise<void> {
  const found = await whoAmI(token);
  if (!found) throw new ApiError(401, "The server does not know this token.");
  sessionStorage.setItem(TOKEN_KEY, token);
  state.value = { phase: "signed-in", user: found };
}

export function signOut(): void {
  sessionStorage.removeItem(TOKEN_KEY);
  state.value = { phase: "signed-out", message: "" };
}

/** Return to the sign-in page after a 401 response. The page's address stays, so that the user returns to it. */
export function expireSession(): void {
  if (state.value.phase !== "signed-in") return;
  sessionStorage.removeItem(TOKEN_KEY);
  state.value = { phase: "signed-out", message: "The session has ended. Sign in again to continue." };
}

/** Show the sign-in page with a message. */
export function signedOutWith(message: string): void {
  state.value = { phase: "signed-out", message };
}
