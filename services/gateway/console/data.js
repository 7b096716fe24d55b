/** Step 1: bring data in and see what it is. */
import { html } from "htm/preact";
import { useLoaded } from "./loading.js";
import { Empty, Trouble } from "./notice.js";
import { Samples } from "./samples.js";
import { Upload } from "./upload.js";
import { number, t } from "./words.js";

export function Data({ id }) {
  const { value, failure, reload } = useLoaded(`/v1/datasets/${id}/versions`, 2000);
  const newest = value?.items[0];
  return html`
    <div class="stack">
      <${Trouble} failure=${failure} again=${reload} />
      ${newest ? html`<${Version} id=${id} version=${newest} />` : value && html`<${Empty} title=${t("data.none")}>${t("data.first")}<//>`}
      <${Upload} id=${id} done=${reload} />
    </div>
  `;
}

function Version({ id, version }) {
  const isReady = version.status === "ready";
  return html`
    <section class="card">
      <div class="row between">
        <h2>${t("data.version", { version: version.version })}</h2>
        <span class="tag">${t(`version.${version.status}`)}</span>
      </div>
      ${version.failure && html`<p class="notice error">${version.failure.sentence}</p>`}
      ${version.status === "open" && html`<p role="status">${t("data.reading")}</p><progress aria-label=${t("data.reading")}></progress>`}
      ${isReady && html`<p>${t("data.count", { samples: number(version.sample_count), classes: version.classes.length })}</p>`}
      ${isReady && html`<${Counts} classes=${version.classes} />`}
      ${isReady && html`<p></p><a class="button" href=${`#/datasets/${id}/train`}>${t("data.next")}</a>`}
    </section>
    ${isReady && html`<${Findings} findings=${version.findings} />`}
    ${isReady && html`<${Samples} id=${id} version=${version} />`}
  `;
}

function Counts({ classes }) {
  const most = Math.max(1, ...classes.map((one) => one.count));
  return html`
    <dl class="bars">
      ${classes.map(
        (one) => html`
          <dt>${one.name}</dt>
          <dd><div class="bar" style=${{ width: `${(100 * one.count) / most}%` }}></div></dd>
          <dd class="number">${number(one.count)}</dd>
        `,
      )}
    </dl>
  `;
}

function Findings({ findings }) {
  return html`
    <section class="card">
      <h2>${t("findings.title")}</h2>
      ${!findings.length && html`<p>${t("findings.none")}</p>`}
      <div class="stack">
        ${findings.map(
          (one) => html`
            <div class=${`notice ${one.severity}`} key=${one.code}>
              <p>${one.sentence}</p>
              ${one.remedy && html`<p><strong>${t("findings.remedy")}</strong> ${one.remedy}</p>`}
            </div>
          `,
        )}
      </div>
    </section>
  `;
}
