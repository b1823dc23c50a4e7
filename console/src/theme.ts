/** The colour scheme: the system's, or the user's choice, which the browser remembers. */
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "polykind.theme";

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

export const theme = signal<Theme>(stored());

effect(() => {
  if (theme.value === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem(KEY, theme.value);
    document.documentElement.dataset["theme"] = theme.value;
  }
});
