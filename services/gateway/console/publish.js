/** Step 4: which version answers callers, how to call it, and trying it out. */
import { html } from "htm/preact";
import { call } from "./api.js";
import { useAction, useLoaded } from "./loading.js";
import { WithModel } from "./models.js";
import { Trouble } from "./notice.js";
import { Address } from "./address.js";
import { TryIt } from "./try_it.js";
import { day, percent, t } from "./words.js";

export const Publish = ({ id }) => html`<${WithModel} id=${id} View=${Published} />`;

function Published({ model, versions }) {
  const aliases = useLoaded(`/v1/models/${model.id}/aliases`, 2000);
  const production = aliases.value?.items.find((one) => one.alias === "production");
  return html`
    <div class="stack">
      <${Trouble} failure=${aliases.failure} again=${aliases.reload} />
      <${Versions} model=${model} versions=${versions} production=${production} done=${aliases.reload} />
      ${production && html`<${TryIt} model=${model} />`}
      ${production && html`<${Address} model=${model} />`}
    </div>
  `;
}

function Versions({ model, versions, production, done }) {
  const address = `/v1/models/${model.id}/aliases/production`;
  const publish = useAction((version) => call("PUT", address, { version }).then(done));
  const back = useAction(() => call("POST", `${address}/rollback`, { from_version: production.version }).then(done));
  const canGoBack = production?.moves.some((move) => move.previous_version);
  return html`
    <section class="card">
      <h2>${t("publish.title")}</h2>
      <p>${production ? t("publish.on", { version: production.version }) : t("publish.off")}</p>
      <div class="scroll" tabindex="0" role="region" aria-label=${t("publish.title")}>
        <table>
          <thead><tr><th scope="col">${t("publish.version")}</th><th scope="col">${t("publish.accuracy")}</th><th scope="col">${t("publish.made")}</th><th scope="col">${t("publish.state")}</th></tr></thead>
          <tbody>
            ${versions.map((one) => html`
              <tr key=${one.version}>
                <th scope="row">${one.version}</th>
                <td>${one.metrics.accuracy === undefined ? "–" : percent(one.metrics.accuracy)}</td>
                <td>${day(one.created_at)}</td>
                <td>${one.version === production?.version
                  ? html`<span class="tag">${t("publish.live")}</span>`
                  : html`<button disabled=${publish.isBusy} onClick=${() => publish.run(one.version)}>${t("publish.go")}</button>`}</td>
              </tr>`)}
          </tbody>
        </table>
      </div>
      <${Trouble} failure=${publish.failure ?? back.failure} />
      ${canGoBack && html`<p></p><button class="plain" disabled=${back.isBusy} onClick=${back.run}>${t("publish.back")}</button>`}
    </section>
  `;
}
