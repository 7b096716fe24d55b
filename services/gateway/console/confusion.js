/** What was taken for what; a cell opens the pictures behind it. */
import { html } from "htm/preact";
import { t } from "./words.js";

/** @param {{confusion: {class_ids: string[], matrix: number[][]}, open: (cell: {truth: string, predicted: string}) => void}} props */
export function Confusion({ confusion, names, cell, open }) {
  const ids = confusion.class_ids;
  return html`
    <section class="card">
      <h2>${t("confusion.title")}</h2>
      <p class="quiet">${t("confusion.what")}</p>
      <div class="scroll" tabindex="0" role="region" aria-label=${t("confusion.title")}>
        <table class="matrix">
          <thead><tr><th scope="col">${t("confusion.corner")}</th>${ids.map((id) => html`<th scope="col" key=${id}>${names[id]}</th>`)}</tr></thead>
          <tbody>
            ${confusion.matrix.map((row, index) => html`
              <tr key=${ids[index]}>
                <th scope="row">${names[ids[index]]}</th>
                ${row.map((count, column) => html`
                  <td key=${ids[column]}>
                    <${Cell} count=${count} truth=${ids[index]} predicted=${ids[column]} names=${names} cell=${cell} open=${open} />
                  </td>`)}
              </tr>`)}
          </tbody>
        </table>
      </div>
    </section>
  `;
}

function Cell({ count, truth, predicted, names, cell, open }) {
  const kind = truth === predicted ? "right" : count ? "wrong" : "";
  if (!kind || kind === "right") return html`<span class=${kind && "tag"}>${count}</span>`;
  const isOpen = cell?.truth === truth && cell?.predicted === predicted;
  const show = () => {
    open({ truth, predicted });
    requestAnimationFrame(() => document.getElementById("cases")?.focus());
  };
  const label = t("confusion.cell", { count, truth: names[truth], predicted: names[predicted] });
  return html`<button class=${kind} aria-pressed=${isOpen} aria-label=${label} onClick=${show}>${count}</button>`;
}
