/** All data sets, and making one. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { call } from "./api.js";
import { useAction, useLoaded } from "./loading.js";
import { Empty, Trouble, Waiting } from "./notice.js";
import { go } from "./route.js";
import { day, t } from "./words.js";

export function Datasets() {
  const { value, failure, reload } = useLoaded("/v1/datasets");
  return html`
    <div class="stack">
      <div><h1>${t("datasets.title")}</h1><p class="quiet">${t("datasets.what")}</p></div>
      <${Trouble} failure=${failure} again=${reload} />
      ${!value && !failure && html`<${Waiting} />`}
      ${value && !value.items.length && html`<${Empty} title=${t("datasets.none")}>${t("datasets.first")}<//>`}
      ${value && html`<ul class="cards">${value.items.map((one) => html`<${Entry} one=${one} key=${one.id} />`)}</ul>`}
      <${NewDataset} />
    </div>
  `;
}

function Entry({ one }) {
  const state = one.last_version ? t("datasets.version", { version: one.last_version }) : t("datasets.no_data");
  return html`
    <li>
      <a class="card" href=${`#/datasets/${one.id}`}>
        <h2>${one.name}</h2>
        <span class="tag">${state}</span>
        <p class="quiet small">${t("datasets.made", { day: day(one.created_at) })}</p>
      </a>
    </li>
  `;
}

function NewDataset() {
  const [name, setName] = useState("");
  const { run, isBusy, failure } = useAction(async () => {
    const made = await call("POST", "/v1/datasets", { name: name.trim(), task: "image_classification", auto_train: "off" });
    go("datasets", made.id, "data");
  });
  const submit = (event) => {
    event.preventDefault();
    run();
  };
  return html`
    <form class="card" onSubmit=${submit}>
      <h2>${t("new.title")}</h2>
      <div>
        <label for="name">${t("new.name")}</label>
        <input id="name" required maxlength="200" placeholder=${t("new.example")} value=${name}
          onInput=${(event) => setName(event.target.value)} />
      </div>
      <fieldset class="choices">
        <legend>${t("new.task")}</legend>
        <label class="choice">
          <input type="radio" name="task" checked />
          <strong>${t("task.image_classification")}</strong>
          <span>${t("task.image_classification.what")}</span>
        </label>
      </fieldset>
      <${Trouble} failure=${failure} />
      <button disabled=${isBusy || !name.trim()}>${t("new.go")}</button>
    </form>
  `;
}
