/** Step 2: one choice, then watch. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { call } from "./api.js";
import { useAction, useLoaded } from "./loading.js";
import { Empty, Trouble, Waiting } from "./notice.js";
import { useProgress } from "./progress.js";
import { number, percent, t } from "./words.js";

const MINUTES = { fast: 2, balanced: 5, accurate: 30 };
const ENDED = ["succeeded", "failed", "cancelled"];
const isOver = (run) => ENDED.includes(run.state);

export function Train({ id }) {
  const runs = useLoaded(`/v1/runs?dataset_id=${id}`, 1500);
  const versions = useLoaded(`/v1/datasets/${id}/versions`);
  if (!runs.value || !versions.value) return html`<${Trouble} failure=${runs.failure ?? versions.failure} again=${runs.reload} /><${Waiting} />`;
  const newest = runs.value.items[0];
  const isUsable = versions.value.items.some((one) => one.status !== "rejected");
  if (!newest && !isUsable) return html`<${Empty} title=${t("train.nothing")}><a href=${`#/datasets/${id}/data`}>${t("train.first")}</a><//>`;
  return html`
    <div class="stack">
      <${Trouble} failure=${runs.failure} />
      ${newest && html`<${Run} key=${newest.id} run=${newest} />`}
      ${(!newest || isOver(newest)) && html`<${Start} id=${id} done=${runs.reload} />`}
    </div>
  `;
}

function Start({ id, done }) {
  const [preset, setPreset] = useState("fast");
  const { run, isBusy, failure } = useAction(async () => {
    await call("POST", "/v1/runs", { dataset_id: id, preset });
    done();
  });
  return html`
    <section class="card">
      <h2>${t("train.title")}</h2>
      <fieldset class="choices">
        <legend>${t("train.how")}</legend>
        ${Object.entries(MINUTES).map(
          ([name, minutes]) => html`
            <label class="choice" key=${name}>
              <input type="radio" name="preset" checked=${preset === name} onChange=${() => setPreset(name)} />
              <strong>${t(`preset.${name}`)}</strong>
              <span>${t(`preset.${name}.what`)}</span>
              <span>${t("train.minutes", { minutes })}</span>
            </label>
          `,
        )}
      </fieldset>
      <${Trouble} failure=${failure} />
      <button disabled=${isBusy} onClick=${run}>${t("train.go")}</button>
    </section>
  `;
}

function Run({ run }) {
  const progress = useProgress(run.id);
  const cancel = useAction(() => call("POST", `/v1/runs/${run.id}/cancel`));
  const isLive = !isOver(run);
  return html`
    <section class="card stack">
      <div class="row between">
        <h2>${t("train.run", { version: run.version, preset: t(`preset.${run.preset}`) })}</h2>
        <span class="tag" role="status">${t(`state.${run.state}`)}</span>
      </div>
      ${run.failure && html`<p class="notice error">${run.failure.sentence}</p>`}
      ${isLive && html`<${Live} progress=${progress} />`}
      ${isLive && html`<button class="plain" disabled=${cancel.isBusy} onClick=${cancel.run}>${t("train.cancel")}</button>`}
      <${Trouble} failure=${cancel.failure} />
      ${run.state === "succeeded" && html`<p>${t("train.done")}</p><a class="button" href=${`#/datasets/${run.dataset_id}/look`}>${t("train.next")}</a>`}
      ${progress.trials.length > 0 && html`<${Trials} trials=${progress.trials} />`}
    </section>
  `;
}

function Live({ progress }) {
  const left = progress.eta === null ? "" : t("train.left", { seconds: number(Math.round(progress.eta)) });
  return html`
    <div>
      <progress value=${progress.fraction ?? undefined} aria-label=${t("train.progress")}></progress>
      <p class="quiet small">${t("train.leave")} ${left}</p>
    </div>
  `;
}

function Trials({ trials }) {
  const shown = (trial) => Object.entries(trial.candidate).map(([name, value]) => `${name} ${value}`).join(", ");
  return html`
    <details>
      <summary>${t("trials.title", { count: trials.length })}</summary>
      <div class="scroll" tabindex="0" role="region" aria-label=${t("trials.tried")}>
        <table>
          <thead><tr><th scope="col">${t("trials.number")}</th><th scope="col">${t("trials.tried")}</th><th scope="col">${t("trials.score")}</th></tr></thead>
          <tbody>
            ${trials.map((trial) => html`
              <tr key=${trial.trial}><td>${trial.trial + 1}</td><td class="small">${shown(trial)}</td><td class="number">${score(trial.metrics)}</td></tr>
            `)}
          </tbody>
        </table>
      </div>
    </details>
  `;
}

const score = (metrics) => {
  const value = metrics.accuracy ?? metrics.macro_f1 ?? Object.values(metrics)[0];
  return value === undefined ? "–" : percent(value);
};
