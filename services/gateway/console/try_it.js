/** Drop a photo and see what the published version says. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { send } from "./api.js";
import { useAction } from "./loading.js";
import { Trouble } from "./notice.js";
import { percent, t } from "./words.js";

export function TryIt({ model }) {
  const [picture, setPicture] = useState(null);
  const [answer, setAnswer] = useState(null);
  const { run, isBusy, failure } = useAction(async (file) => {
    setAnswer(null);
    setPicture((last) => {
      if (last) URL.revokeObjectURL(last);
      return URL.createObjectURL(file);
    });
    setAnswer(await send("POST", `/v1/models/${model.id}/predict`, file));
  });
  const drop = (event) => {
    event.preventDefault();
    if (event.type === "drop" && event.dataTransfer.files[0]) run(event.dataTransfer.files[0]);
  };
  return html`
    <section class="card stack">
      <h2>${t("try.title")}</h2>
      <label class="drop" onDragOver=${drop} onDrop=${drop}>
        <strong>${t("try.drop")}</strong>
        <input class="hidden" type="file" accept="image/*" onChange=${(event) => event.target.files[0] && run(event.target.files[0])} />
      </label>
      <${Trouble} failure=${failure} />
      ${picture && html`<img class="preview" src=${picture} alt=${t("try.yours")} />`}
      ${isBusy && html`<p role="status">${t("try.asking")}</p>`}
      ${answer && html`<${Answer} answer=${answer} />`}
    </section>
  `;
}

function Answer({ answer }) {
  const results = answer.predictions[0].results;
  const best = results[0];
  const isDoubtful = best.score < answer.threshold;
  return html`
    <div role="status">
      <p class="big">${best.name}</p>
      <p>${isDoubtful ? t("try.doubtful") : t("try.sure")}</p>
      <dl class="bars">
        ${results.map((one) => html`
          <dt>${one.name}</dt>
          <dd><div class="bar" style=${{ width: `${100 * one.score}%` }}></div></dd>
          <dd class="number">${percent(one.score)}</dd>`)}
      </dl>
    </div>
  `;
}
