/** One data set and its four steps. */
import { html } from "htm/preact";
import { Data } from "./data.js";
import { Look } from "./look.js";
import { useLoaded } from "./loading.js";
import { Trouble, Waiting } from "./notice.js";
import { Publish } from "./publish.js";
import { Train } from "./train.js";
import { t } from "./words.js";

const STEPS = { data: Data, train: Train, look: Look, publish: Publish };

export function Dataset({ id, step }) {
  const { value, failure, reload } = useLoaded(`/v1/datasets/${id}`);
  const Step = STEPS[step] ?? Data;
  if (!value) return failure ? html`<${Trouble} failure=${failure} again=${reload} />` : html`<${Waiting} />`;
  return html`
    <h1>${value.name}</h1>
    <p class="quiet">${t(`task.${value.task}`)}</p>
    <nav aria-label=${t("steps.label")}>
      <ol class="steps">
        ${Object.keys(STEPS).map(
          (name) => html`<li key=${name}>
            <a href=${`#/datasets/${id}/${name}`} aria-current=${name === step ? "step" : undefined}>${t(`steps.${name}`)}</a>
          </li>`,
        )}
      </ol>
    </nav>
    <${Step} id=${id} />
  `;
}
