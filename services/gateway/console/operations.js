/** What the doctor finds and which events failed. */
import { html } from "htm/preact";
import { useLoaded } from "./loading.js";
import { Trouble, Waiting } from "./notice.js";
import { t } from "./words.js";

export function Operations() {
  const { value, failure, reload } = useLoaded("/v1/doctor", 10000);
  return html`
    <div class="stack">
      <div><h1>${t("operations.title")}</h1><p class="quiet">${t("operations.what")}</p></div>
      <${Trouble} failure=${failure} again=${reload} />
      ${!value && !failure && html`<${Waiting} />`}
      ${value && html`<section class="card">
        <div class="row between"><h2>${t("operations.health")}</h2><span class="tag">${t(`health.${value.status}`)}</span></div>
        <div class="scroll" tabindex="0" role="region" aria-label=${t("operations.health")}>
          <table>
            <thead><tr><th scope="col">${t("operations.check")}</th><th scope="col">${t("operations.status")}</th><th scope="col">${t("operations.found")}</th></tr></thead>
            <tbody>${value.checks.map((one) => html`
              <tr key=${one.name}><th scope="row">${one.name}</th><td>${t(`health.${one.status}`)}</td><td>${one.found} <span class="quiet">${one.remedy}</span></td></tr>`)}
            </tbody>
          </table>
        </div>
      </section>`}
    </div>
  `;
}
