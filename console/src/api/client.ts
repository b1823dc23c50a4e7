/** Requests to the API server with the user's credentials, and its errors as exceptions. */
import type { Status, StatusCause } from "./types";
import { continueSession, sessionToken } from "./session";

/** An error response of the server, or `code` 0 if there was no response. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly code: number,
    message: string,
    readonly reason = "",
    readonly causes: readonly StatusCause[] = [],
  ) {
    super(message);
  }

  /** True if the user lacks a permission. */
  get forbidden(): boolean {
    return this.code === 403;
  }

  get notFound(): boolean {
    return this.code === 404;
  }

  /** True if the server cannot be reached, so that a later attempt may succeed. */
  get unreachable(): boolean {
    return this.code === 0 || this.code === 503 || this.code === 504 || this.code === 429;
  }
}

export interface RequestOptions {
  method?: string;
  /** A value to send as JSON, or a string to send as it is. */
  body?: unknown;
  contentType?: string;
  accept?: string;
  signal?: AbortSignal;
  /** A token to use instead of the session's. */
  token?: string | null;
  /** Called with each text of the response's Warning headers. */
  onWarning?: (text: string) => void;
}

/**
 * Send a request and return the response. Throw ApiError if the response is an error.
 * If the session has expired, the request waits until the user is signed in again.
 */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const token = options.token === undefined ? await sessionToken() : options.token;
  let response = await sendOnce(path, options, token);
  if (response.status === 401 && options.token === undefined && (await continueSession(token))) {
    response = await sendOnce(path, options, await sessionToken());
  }
  if (!response.ok) throw await readError(response);
  if (options.onWarning) for (const text of readWarnings(response.headers.get("Warning"))) options.onWarning(text);
  return response;
}

async function sendOnce(path: string, options: RequestOptions, token: string | null): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
  if (token) headers["Authorization"] = `Bearer ${token}`;
  const init: RequestInit = { method: options.method ?? "GET", headers, cache: "no-store", credentials: "same-origin" };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers["Content-Type"] = options.contentType ?? "application/json";
    init.body = typeof options.body === "string" ? options.body : JSON.stringify(options.body);
  }
  try {
    return await fetch(path, init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "The server does not answer.");
  }
}

/** Send a request and return the JSON of the response. */
export async function requestJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  return (await (await send(path, options)).json()) as T;
}

/** Return the error of a failed response. Most have a Status as their body. */
export async function readError(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const status = JSON.parse(text) as Status;
    if (status.kind === "Status") {
      return new ApiError(response.status, status.message ?? text, status.reason, status.details?.causes ?? []);
    }
  } catch {
    // The body is not JSON: show it as it is.
  }
  return new ApiError(response.status, text.trim() || response.statusText || `status ${response.status}`);
}

/** Return the texts of joined Warning headers such as `299 - "text"`. */
export function readWarnings(header: string | null): string[] {
  if (!header) return [];
  return [...header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]!.replace(/\\(.)/g, "$1"));
}

/** Return any thrown value as an ApiError. */
export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, errorMessage(error));
}

/** Return a message for any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
