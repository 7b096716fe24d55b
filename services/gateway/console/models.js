/** The model of a data set and its versions, for the pages that show them. */
import { html } from "htm/preact";
import { useLoaded } from "./loading.js";
import { Empty, Trouble, Waiting } from "./notice.js";
import { t } from "./words.js";

/** Shows `View` with the model and its versions, newest first; says what to do where there is none yet. */
export function WithModel({ id, View }) {
  const models = useLoaded(`/v1/models?dataset_id=${id}`, 3000);
  const model = models.value?.items[0];
  const versions = useLoaded(model ? `/v1/models/${model.id}/versions` : null, 3000);
  const failure = models.failure ?? versions.failure;
  if (failure) return html`<${Trouble} failure=${failure} again=${models.reload} />`;
  if (models.value && !model) return html`<${Empty} title=${t("model.none")}><a href=${`#/datasets/${id}/train`}>${t("model.first")}</a><//>`;
  if (!versions.value) return html`<${Waiting} />`;
  return html`<${View} model=${model} versions=${versions.value.items} reload=${models.reload} />`;
}
