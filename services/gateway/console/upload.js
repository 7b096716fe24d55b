/** Drag and drop, or choose: an archive with one folder a class, or photos of one class. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { call, upload } from "./api.js";
import { useAction } from "./loading.js";
import { Trouble } from "./notice.js";
import { percent, t } from "./words.js";

const isPhoto = (file) => file.type.startsWith("image/");
const WAIT_MS = 700;

export function Upload({ id, done }) {
  const [files, setFiles] = useState([]);
  const [label, setLabel] = useState("");
  const [share, setShare] = useState(0);
  const action = useAction(async (chosen) => {
    for (const [index, file] of chosen.entries()) {
      const tell = (sent) => setShare((index + sent / Math.max(file.size, 1)) / chosen.length);
      const begun = await upload(id, file, label.trim(), tell);
      done();
      await settled(id, begun.id);
    }
    setFiles([]);
    done();
  });
  const take = (chosen) => {
    setShare(0);
    setFiles(chosen);
    if (!chosen.some(isPhoto)) action.run(chosen);
  };
  const needsLabel = files.some(isPhoto) && !action.isBusy;
  return html`
    <section class="card stack">
      <h2>${t("upload.title")}</h2>
      ${!action.isBusy && html`<${Drop} take=${take} />`}
      ${needsLabel && html`<${Label} files=${files} label=${label} setLabel=${setLabel} go=${() => action.run(files)} />`}
      ${action.isBusy && html`<p role="status">${share < 1 ? t("upload.sending", { share: percent(share) }) : t("upload.reading")}</p>
        <progress value=${share < 1 ? share : undefined} aria-label=${t("upload.title")}></progress>`}
      <${Trouble} failure=${action.failure} again=${() => action.run(files)} />
    </section>
  `;
}

/** Waits until an import was taken or refused; what was wrong with it is thrown. */
async function settled(dataset, id) {
  const found = await call("GET", `/v1/datasets/${dataset}/imports/${id}`);
  if (found.failure) throw new Error(found.failure.sentence);
  if (found.status === "ingested") return;
  await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  await settled(dataset, id);
}

function Drop({ take }) {
  const [isOver, setOver] = useState(false);
  const over = (event) => {
    event.preventDefault();
    setOver(event.type === "dragover");
  };
  const drop = (event) => {
    over(event);
    take([...event.dataTransfer.files]);
  };
  return html`
    <label class=${`drop ${isOver ? "over" : ""}`} onDragOver=${over} onDragLeave=${over} onDrop=${drop}>
      <strong>${t("upload.drop")}</strong>
      <span class="quiet">${t("upload.what")}</span>
      <input class="hidden" type="file" multiple accept=".zip,.tar,.gz,.tgz,image/*"
        onChange=${(event) => event.target.files.length && take([...event.target.files])} />
    </label>
  `;
}

function Label({ files, label, setLabel, go }) {
  const submit = (event) => {
    event.preventDefault();
    go();
  };
  return html`
    <form onSubmit=${submit}>
      <div>
        <label for="label">${t("upload.label", { count: files.length })}</label>
        <input id="label" required maxlength="255" value=${label} onInput=${(event) => setLabel(event.target.value)} />
      </div>
      <button>${t("upload.go")}</button>
    </form>
  `;
}
