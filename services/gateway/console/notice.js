/** What happened and what to do, in a box. */
import { html } from "htm/preact";
import { t } from "./words.js";

/** @param {{failure: Error | null, again?: () => void}} props nothing is shown where nothing failed */
export function Trouble({ failure, again }) {
  if (!failure) return null;
  return html`
    <div class="notice error" role="alert">
      <p>${failure.message}</p>
      ${again && html`<button class="plain" onClick=${again}>${t("error.again")}</button>`}
    </div>
  `;
}

/** An empty page says what to do first. */
export function Empty({ title, children }) {
  return html`<section class="card"><h2>${title}</h2><p class="quiet">${children}</p></section>`;
}

export const Waiting = () => html`<p class="quiet" role="status">${t("shell.loading")}</p>`;
