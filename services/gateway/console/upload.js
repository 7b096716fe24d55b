/** Drag and drop, or choose: an archive with one folder a class, or photos class by class, which are packed here. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { call, upload } from "./api.js";
import { useAction } from "./loading.js";
import { Trouble } from "./notice.js";
import { percent, t } from "./words.js";
import { fits, zipped } from "./zip.js";

const isPhoto = (file) => file.type.startsWith("image/");
const WAIT_MS = 700;

export function Upload({ id, done }) {
  const [photos, setPhotos] = useState([]);
  const [groups, setGroups] = useState([]);
  const [share, setShare] = useState(0);
  const action = useAction(async (archives) => {
    for (const file of archives) {
      const begun = await upload(id, file, "", (sent) => setShare(sent / Math.max(file.size, 1)));
      done();
      await settled(id, begun.id);
    }
    setGroups([]);
    done();
  });
  const take = (chosen) => {
    setShare(0);
    setPhotos(chosen.filter(isPhoto));
    const archives = chosen.filter((file) => !isPhoto(file));
    if (archives.length) action.run(archives);
  };
  const name = (label) => {
    setGroups([...groups, { label, files: photos }]);
    setPhotos([]);
  };
  return html`
    <section class="card stack">
      <div><h2>${t("upload.title")}</h2><p class="quiet">${t("upload.together")}</p></div>
      ${!action.isBusy && html`<${Drop} take=${take} />`}
      ${photos.length > 0 && html`<${Label} count=${photos.length} name=${name} />`}
      ${groups.length > 0 && !action.isBusy && html`<${Groups} groups=${groups} send=${action.run} />`}
      ${action.isBusy && html`<p role="status">${share < 1 ? t("upload.sending", { share: percent(share) }) : t("upload.reading")}</p>
        <progress value=${share < 1 ? share : undefined} aria-label=${t("upload.title")}></progress>`}
      <${Trouble} failure=${action.failure} />
    </section>
  `;
}

/** Photos that wait to be sent together, by class. */
function Groups({ groups, send }) {
  const pack = useAction(async () => {
    if (!fits(groups)) throw new Error(t("upload.too_many"));
    await send([await zipped(groups, "photos.zip")]);
  });
  return html`
    <div>
      <ul>${groups.map((one) => html`<li key=${one.label}>${t("upload.group", { label: one.label, count: one.files.length })}</li>`)}</ul>
      ${groups.length < 2 && html`<p>${t("upload.second")}</p>`}
      <${Trouble} failure=${pack.failure} />
      <button disabled=${pack.isBusy || groups.length < 2} onClick=${pack.run}>${t("upload.send")}</button>
    </div>
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
        onChange=${(event) => {
          if (event.target.files.length) take([...event.target.files]);
          event.target.value = "";
        }} />
    </label>
  `;
}

function Label({ count, name }) {
  const [label, setLabel] = useState("");
  const submit = (event) => {
    event.preventDefault();
    name(label.trim());
  };
  return html`
    <form onSubmit=${submit}>
      <div>
        <label for="label">${t("upload.label", { count })}</label>
        <input id="label" required maxlength="255" value=${label} onInput=${(event) => setLabel(event.target.value)} />
      </div>
      <button disabled=${!label.trim()}>${t("upload.go")}</button>
    </form>
  `;
}
