/** Light or dark: what the system prefers until somebody chooses. */
const KEPT = "easyloop.theme";
const preference = matchMedia("(prefers-color-scheme: dark)");

export const theme = () => localStorage.getItem(KEPT) ?? (preference.matches ? "dark" : "light");

export function applyTheme() {
  document.documentElement.dataset.theme = theme();
}

export function switchTheme() {
  localStorage.setItem(KEPT, theme() === "dark" ? "light" : "dark");
  applyTheme();
}

preference.addEventListener("change", applyTheme);
