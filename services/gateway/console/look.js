/** Step 3: how good the model is, and where it errs. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Confusion } from "./confusion.js";
import { useLoaded } from "./loading.js";
import { WithModel } from "./models.js";
import { Trouble, Waiting } from "./notice.js";
import { thumbnail } from "./samples.js";
import { number, percent, t } from "./words.js";

export const Look = ({ id }) => html`<${WithModel} id=${id} View=${Versions} />`;

function Versions({ model, versions }) {
  const [chosen, setChosen] = useState(null);
  const version = chosen ?? versions[0].version;
  const { value, failure, reload } = useLoaded(`/v1/models/${model.id}/versions/${version}/report`);
  return html`
    <div class="stack">
      ${versions.length > 1 && html`
        <div>
          <label for="version">${t("look.version")}</label>
          <select id="version" value=${version} onChange=${(event) => setChosen(Number(event.target.value))}>
            ${versions.map((one) => html`<option value=${one.version} key=${one.version}>${one.version}</option>`)}
          </select>
        </div>`}
      <${Trouble} failure=${failure} again=${reload} />
      ${value ? html`<${Report} report=${value} model=${model} />` : !failure && html`<${Waiting} />`}
    </div>
  `;
}

function Report({ report, model }) {
  const [cell, setCell] = useState(null);
  const names = Object.fromEntries((report.classes ?? []).map((one) => [one.id, one.name]));
  const cases = report.worst_cases ?? [];
  const shown = cell ? cases.filter((one) => one.truth === cell.truth && one.predicted === cell.predicted) : cases;
  return html`
    <section class="card">
      <h2>${t("look.title")}</h2>
      <${Headline} report=${report} />
      ${(report.findings ?? []).map((one) => html`<p class=${`notice ${one.severity}`} key=${one.code}>${one.sentence}</p>`)}
      <a class="button" href=${`#/datasets/${model.dataset_id}/publish`}>${t("look.next")}</a>
    </section>
    ${report.classes && html`<${Classes} classes=${report.classes} />`}
    ${report.confusion && html`<${Confusion} confusion=${report.confusion} names=${names} cell=${cell} open=${setCell} />`}
    <${Cases} cases=${shown} names=${names} cell=${cell} close=${() => setCell(null)} />
  `;
}

function Headline({ report }) {
  if (report.accuracy === null || report.accuracy === undefined) return html`<p>${t("look.untested")}</p>`;
  const right = Math.round(report.accuracy * 100);
  return html`
    <p class="big">${percent(report.accuracy)}</p>
    <p>${t("look.meaning", { right: number(right), samples: number(report.sample_count ?? 0) })}</p>
  `;
}

function Classes({ classes }) {
  const figure = (value) => (value === null ? "–" : percent(value));
  return html`
    <section class="card">
      <h2>${t("classes.title")}</h2>
      <p class="quiet">${t("classes.what")}</p>
      <div class="scroll" tabindex="0" role="region" aria-label=${t("classes.title")}>
        <table>
          <thead><tr>
            <th scope="col">${t("classes.name")}</th><th scope="col">${t("classes.precision")}</th>
            <th scope="col">${t("classes.recall")}</th><th scope="col">${t("classes.support")}</th>
          </tr></thead>
          <tbody>${classes.map((one) => html`
            <tr key=${one.id}><th scope="row">${one.name}</th><td>${figure(one.precision)}</td><td>${figure(one.recall)}</td><td>${number(one.support)}</td></tr>
          `)}</tbody>
        </table>
      </div>
    </section>
  `;
}

function Cases({ cases, names, cell, close }) {
  const title = cell ? t("cases.cell", { truth: names[cell.truth], predicted: names[cell.predicted] }) : t("cases.title");
  return html`
    <section class="card" id="cases" tabindex="-1">
      <div class="row between"><h2>${title}</h2>${cell && html`<button class="plain" onClick=${close}>${t("cases.all")}</button>`}</div>
      ${!cases.length && html`<p class="quiet">${cell ? t("cases.none_here") : t("cases.none")}</p>`}
      <ul class="thumbs">
        ${cases.map((one) => {
          const words = t("cases.one", { predicted: names[one.predicted], truth: names[one.truth], score: percent(one.score) });
          return html`<li key=${one.sha}><img loading="lazy" src=${thumbnail(one.sha)} alt=${words} title=${words} />
            <span>${names[one.predicted]} ${percent(one.score)}</span><span>${t("cases.truth", { truth: names[one.truth] })}</span></li>`;
        })}
      </ul>
    </section>
  `;
}
