/** The pictures of a version, page by page, of one class where one is chosen. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { useLoaded } from "./loading.js";
import { Trouble } from "./notice.js";
import { number, t } from "./words.js";

const PAGE = 48;

export const thumbnail = (sha) => `/v1/thumbnails/${sha}`;

export function Samples({ id, version }) {
  const [wanted, setWanted] = useState({ class_id: "", offset: 0 });
  const query = new URLSearchParams({ offset: wanted.offset, limit: PAGE, ...(wanted.class_id && { class_id: wanted.class_id }) });
  const { value, failure, reload } = useLoaded(`/v1/datasets/${id}/versions/${version.version}/samples?${query}`);
  const names = Object.fromEntries(version.classes.map((one) => [one.id, one.name]));
  return html`
    <section class="card stack">
      <h2>${t("samples.title")}</h2>
      <div>
        <label for="class">${t("samples.class")}</label>
        <select id="class" value=${wanted.class_id} onChange=${(event) => setWanted({ class_id: event.target.value, offset: 0 })}>
          <option value="">${t("samples.all")}</option>
          ${version.classes.map((one) => html`<option value=${one.id} key=${one.id}>${one.name}</option>`)}
        </select>
      </div>
      <${Trouble} failure=${failure} again=${reload} />
      ${value && html`<${Pictures} items=${value.items} names=${names} />`}
      ${value && html`<${Pager} page=${value} turn=${(offset) => setWanted({ ...wanted, offset })} />`}
    </section>
  `;
}

function Pictures({ items, names }) {
  return html`
    <ul class="thumbs">
      ${items.map((one) => {
        const label = one.labels.map((label) => names[label] ?? label).join(", ");
        return html`<li key=${one.name}>
          <img loading="lazy" src=${thumbnail(one.sha256)} alt=${one.name} /><span>${label}</span>
        </li>`;
      })}
    </ul>
  `;
}

function Pager({ page, turn }) {
  const last = page.offset + page.items.length;
  if (page.total <= PAGE) return null;
  return html`
    <div class="row">
      <button class="plain" disabled=${page.offset === 0} onClick=${() => turn(page.offset - PAGE)}>${t("samples.back")}</button>
      <span>${t("samples.shown", { first: number(page.offset + 1), last: number(last), total: number(page.total) })}</span>
      <button class="plain" disabled=${last >= page.total} onClick=${() => turn(page.offset + PAGE)}>${t("samples.next")}</button>
    </div>
  `;
}
