/** Sign-in at an OpenID Connect issuer: authorization code with PKCE (RFC 7636), without a client secret. */
import { ApiError } from "./client";
import { navigate } from "../router";
import { signIn, type Credential } from "./session";

export interface Issuer {
  issuer: string;
  clientID: string;
}

interface Pending {
  issuer: Issuer;
  tokenEndpoint: string;
  verifier: string;
  state: string;
  nonce: string;
  returnTo: string;
}

const PENDING_KEY = "polykind.oidc";
/** The part of a token's lifetime after which it is renewed, so that a slow request does not arrive with an expired token. */
const EARLY = 0.9;

/** Return the issuers that the server is configured with. */
export async function loadIssuers(): Promise<Issuer[]> {
  const response = await fetch("/console/config.json", { cache: "no-store" });
  if (!response.ok) return [];
  return ((await response.json()) as { issuers: Issuer[] }).issuers;
}

const redirectUri = (): string => `${location.origin}/console/`;

/** Leave the console for the issuer's sign-in page. Throw ApiError if the issuer cannot be reached. */
export async function startSignIn(issuer: Issuer): Promise<void> {
  const url = `${issuer.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  let found: { authorization_endpoint: string; token_endpoint: string; scopes_supported?: string[] };
  try {
    const response = await fetch(url, { referrerPolicy: "no-referrer" });
    if (!response.ok) throw new Error(`status ${response.status}`);
    found = (await response.json()) as typeof found;
  } catch {
    throw new ApiError(0, `The issuer ${issuer.issuer} does not answer to requests from this page.`);
  }
  const pending: Pending = {
    issuer,
    tokenEndpoint: found.token_endpoint,
    verifier: randomText(),
    state: randomText(),
    nonce: randomText(),
    returnTo: location.pathname + location.search,
  };
  sessionStorage.setItem(PENDING_KEY, JSON.stringify(pending));
  const target = new URL(found.authorization_endpoint);
  const parameters = {
    response_type: "code",
    client_id: issuer.clientID,
    redirect_uri: redirectUri(),
    scope: scopesFor(found.scopes_supported),
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await challenge(pending.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  location.assign(target);
}

/** Return the scopes to request. Some issuers reject scopes that they do not know; offline_access asks for a refresh token. */
export function scopesFor(supported: readonly string[] | undefined): string {
  const wanted = ["openid", "profile", "email", "groups"];
  if (!supported) return wanted.join(" ");
  return [...wanted, "offline_access"].filter((scope) => scope === "openid" || supported.includes(scope)).join(" ");
}

/**
 * Finish a sign-in if the issuer has sent the browser back, on the page that the user came from. Return false if this
 * is no such page load. Throw ApiError if the sign-in failed.
 */
export async function finishSignIn(): Promise<boolean> {
  const query = new URLSearchParams(location.search);
  const stored = sessionStorage.getItem(PENDING_KEY);
  if (!query.has("state") || !stored) return false;
  sessionStorage.removeItem(PENDING_KEY);
  const pending = JSON.parse(stored) as Pending;
  navigate(pending.returnTo, { replace: true });
  if (query.get("state") !== pending.state) throw new ApiError(401, "The issuer's response belongs to another sign-in.");
  const code = query.get("code");
  if (!code) throw new ApiError(401, query.get("error_description") ?? query.get("error") ?? "The issuer sent no code.");
  const client = { issuer: pending.issuer, tokenEndpoint: pending.tokenEndpoint };
  const tokens = await requestTokens(client, {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri(),
    code_verifier: pending.verifier,
  });
  if (tokenClaims(tokens.id_token)["nonce"] !== pending.nonce) {
    throw new ApiError(401, "The issuer's token belongs to another sign-in.");
  }
  await signIn(credentialOf(client, tokens));
  return true;
}

type Client = Pick<Pending, "issuer" | "tokenEndpoint">;

interface Tokens {
  id_token: string;
  refresh_token?: string;
}

/** Send a request to the token endpoint. Throw ApiError if the issuer rejects it. */
async function requestTokens({ issuer, tokenEndpoint }: Client, parameters: Record<string, string>): Promise<Tokens> {
  const response = await fetch(tokenEndpoint, {
    method: "POST",
    referrerPolicy: "no-referrer",
    body: new URLSearchParams({ ...parameters, client_id: issuer.clientID }),
  }).catch(() => {
    throw new ApiError(0, `The issuer ${issuer.issuer} does not answer to requests from this page.`);
  });
  const body = (await response.json()) as Partial<Tokens> & { error?: string; error_description?: string };
  const { id_token, ...rest } = body;
  if (!response.ok || !id_token) throw new ApiError(401, body.error_description ?? body.error ?? "The issuer sent no ID token.");
  return { id_token, ...rest };
}

/** Return a credential that renews itself if the issuer has sent a refresh token. */
function credentialOf(client: Client, tokens: Tokens): Credential {
  const { id_token: token, refresh_token: refreshToken } = tokens;
  const { iat, exp } = tokenClaims(token);
  if (!refreshToken) return { token };
  const renew = async (): Promise<Credential> => {
    const renewed = await requestTokens(client, { grant_type: "refresh_token", refresh_token: refreshToken });
    // The issuer may keep the old refresh token valid, and send no new one.
    return credentialOf(client, { refresh_token: refreshToken, ...renewed });
  };
  // The browser's clock may be wrong by more than the lifetime of the token, so that only the lifetime counts.
  return { token, renewAt: Date.now() + EARLY * 1000 * (Number(exp) - Number(iat)), renew };
}

/** Return the claims of a JSON Web Token. The API server verifies the signature; this page does not. */
export function tokenClaims(token: string): Record<string, unknown> {
  const payload = (token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (c) => c.charCodeAt(0)))) as Record<
    string,
    unknown
  >;
}

function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Return the PKCE challenge of a verifier. */
export async function challenge(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
