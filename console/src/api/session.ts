/** The signed-in user. The token is kept in sessionStorage: a tab that is closed forgets it. */
import { computed, signal } from "@preact/signals";
import { discardAllDrafts } from "../drafts";
import { ApiError, requestJson } from "./client";

export interface User {
  name: string;
  groups: string[];
  /** Where the identity comes from. A client certificate or a proxy adds credentials without the console's help. */
  source: "token" | "browser";
}

/** A token, and a way to replace it without the user. */
export interface Credential {
  token: string;
  /** When to renew the token, by the browser's clock. */
  renewAt?: number;
  /** Return a new credential of the same user. Kept in memory only. */
  renew?: () => Promise<Credential>;
}

const TOKEN_KEY = "polykind.token";
const ENDED = "The session has ended. Sign in again to continue.";

type State =
  | { phase: "starting" }
  | { phase: "signed-out"; message: string }
  /** With `expired`, the page stays and asks the user to sign in again. */
  | { phase: "signed-in"; user: User; expired: boolean };

const state = signal<State>({ phase: "starting" });
let credential: Credential | null = null;
/** The renewal under way, which all requests share. */
let renewal: Promise<boolean> | null = null;
/** Called with true when an expired session continues, or with false when the user signs out. */
let waiting: ((continued: boolean) => void)[] = [];

export const user = computed(() => (state.value.phase === "signed-in" ? state.value.user : null));
export const phase = computed(() => state.value.phase);
export const sessionExpired = computed(() => state.value.phase === "signed-in" && state.value.expired);
/** A sentence for the sign-in form: why the user has to sign in again. */
export const signInMessage = computed(() => {
  if (sessionExpired.value) return ENDED;
  return state.value.phase === "signed-out" ? state.value.message : "";
});

function storedToken(): string | null {
  return sessionStorage.getItem(TOKEN_KEY);
}

/** Return the token for a request, renewed if it expires soon. */
export async function sessionToken(): Promise<string | null> {
  if (Date.now() >= (credential?.renewAt ?? Infinity)) await renewQuietly();
  return storedToken();
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
  const token = storedToken();
  for (const credential of token ? [token, null] : [null]) {
    try {
      const found = await whoAmI(credential);
      if (found) {
        continueAs(found);
        return;
      }
    } catch (error) {
      if (error instanceof ApiError && error.unreachable) {
        signedOutWith(error.message);
        return;
      }
    }
    sessionStorage.removeItem(TOKEN_KEY);
  }
  signedOutWith(token ? ENDED : "");
}

/** Sign in with a bearer token. Throw ApiError if the server does not accept it. */
export async function signIn(accepted: Credential): Promise<void> {
  const found = await whoAmI(accepted.token);
  if (!found) throw new ApiError(401, "The server does not know this token.");
  keep(accepted);
  continueAs(found);
}

function keep(accepted: Credential): void {
  sessionStorage.setItem(TOKEN_KEY, accepted.token);
  credential = accepted;
}

/** Start a session, or continue the expired one of the same user. Another user starts with a fresh page. */
function continueAs(found: User): void {
  const previous = user.peek();
  if (previous && previous.name !== found.name) {
    window.location.reload();
    return;
  }
  state.value = { phase: "signed-in", user: found, expired: false };
  endWaiting(true);
}

function endWaiting(continued: boolean): void {
  for (const resolve of waiting.splice(0)) resolve(continued);
}

export function signOut(): void {
  sessionStorage.removeItem(TOKEN_KEY);
  discardAllDrafts();
  credential = null;
  state.value = { phase: "signed-out", message: "" };
  endWaiting(false);
}

/** Renew the token without the user. Return false if that is impossible. */
function renewQuietly(): Promise<boolean> {
  const renew = credential?.renew;
  if (!renew) return Promise.resolve(false);
  renewal ??= renew()
    .then(async (renewed) => {
      if ((await whoAmI(renewed.token))?.name !== user.peek()?.name) return false;
      keep(renewed);
      return true;
    })
    .catch(() => false)
    .then((renewed) => {
      // A refresh token that has failed once fails again.
      if (!renewed && credential) credential = { token: credential.token };
      renewal = null;
      return renewed;
    });
  return renewal;
}

/**
 * Continue after a 401 response to a request with `token`: renew the token, or ask the user to sign in again while the
 * page stays as it is. Return true if the request can be sent again.
 */
export async function continueSession(token: string | null): Promise<boolean> {
  if (state.value.phase !== "signed-in") return false;
  if (token !== storedToken() && !sessionExpired.peek()) return true;
  if (await renewQuietly()) return true;
  if (state.value.phase !== "signed-in") return false;
  state.value = { ...state.value, expired: true };
  return new Promise((resolve) => waiting.push(resolve));
}

/** Show the sign-in page with a message. An expired session keeps its page. */
export function signedOutWith(message: string): void {
  if (!sessionExpired.peek()) state.value = { phase: "signed-out", message };
}
