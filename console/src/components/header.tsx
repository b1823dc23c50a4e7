/** The bar on top of each page: navigation, state of the connection, colours, and the user. */
import type { VNode } from "preact";
import { reconnecting } from "../api/connection";
import { signOut, user } from "../api/session";
import { NAVIGATION } from "../routes";
import { place } from "../router";
import { theme, type Theme } from "../theme";
import { Icon } from "./icon";
import { Menu } from "./menu";

export function Header(): VNode {
  return (
    <header class="topbar">
      <a class="brand" href="/console/">
        <Logo />
        <span>Polykind</span>
      </a>
      <nav aria-label="Pages">
        <ul>
          {NAVIGATION.map((entry) => (
            <li key={entry.href}>
              <a href={entry.href} aria-current={entry.prefixes.some((prefix) => place.value.path.startsWith(prefix)) ? "page" : undefined}>
                {entry.label}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="topbar-end">
        <ConnectionState />
        <UserMenu />
      </div>
    </header>
  );
}

export function Logo(): VNode {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M9 10l7-4 7 4-7 4z" fill="#fff" />
      <path d="M9 15.5l7 4 7-4M9 21l7 4 7-4" fill="none" stroke="#fff" stroke-width="2.2" stroke-linejoin="round" />
    </svg>
  );
}

function ConnectionState(): VNode {
  return (
    <span class={`connection ${reconnecting.value ? "warning" : "ok"}`} role="status">
      <span class="dot" aria-hidden="true" />
      <span class="connection-label">{reconnecting.value ? "Reconnecting…" : "Live"}</span>
    </span>
  );
}

const THEMES: readonly { value: Theme; label: string }[] = [
  { value: "system", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

function UserMenu(): VNode | null {
  const current = user.value;
  if (!current) return null;
  return (
    <Menu label={`User ${current.name}`} button={<><Icon name="user" /><span class="user-name">{current.name}</span></>}>
      <div class="menu-head">
        <strong>{current.name}</strong>
        <span class="hint">{current.groups.join(", ")}</span>
      </div>
      <fieldset class="menu-choice">
        <legend>Colours</legend>
        {THEMES.map(({ value, label }) => (
          <label key={value}>
            <input type="radio" name="theme" checked={theme.value === value} onChange={() => (theme.value = value)} />
            {label}
          </label>
        ))}
      </fieldset>
      {current.source === "token" ? (
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      ) : (
        <p class="hint">Your browser or a proxy sends your credentials with each request.</p>
      )}
    </Menu>
  );
}
