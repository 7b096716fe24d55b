/** How programs call the published version. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { t } from "./words.js";

const EXAMPLES = {
  curl: (url) => `curl "${url}" \\
  --header "Authorization: Bearer $EASYLOOP_KEY" \\
  --form file=@photo.jpg`,
  Python: (url) => `import os, httpx

answer = httpx.post(
    "${url}",
    headers={"Authorization": "Bearer " + os.environ["EASYLOOP_KEY"]},
    files={"file": open("photo.jpg", "rb")},
)
print(answer.json()["predictions"][0]["results"])`,
  JavaScript: (url) => `import { openAsBlob } from "node:fs";

const form = new FormData();
form.append("file", await openAsBlob("photo.jpg"), "photo.jpg");
const answer = await fetch("${url}", {
  method: "POST",
  headers: { Authorization: "Bearer " + process.env.EASYLOOP_KEY },
  body: form,
});
console.log((await answer.json()).predictions[0].results);`,
};

export function Address({ model }) {
  const [language, setLanguage] = useState("curl");
  const [isCopied, setCopied] = useState(false);
  const text = EXAMPLES[language](`${location.origin}/v1/models/${model.id}/predict`);
  const choose = (name) => {
    setLanguage(name);
    setCopied(false);
  };
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true));
  return html`
    <section class="card stack">
      <div><h2>${t("address.title")}</h2><p class="quiet">${t("address.what")}</p></div>
      <div class="row">
        ${Object.keys(EXAMPLES).map((name) => html`
          <button key=${name} class=${name === language ? "" : "plain"} aria-pressed=${name === language} onClick=${() => choose(name)}>${name}</button>`)}
      </div>
      <pre tabindex="0" aria-label=${language}>${text}</pre>
      ${navigator.clipboard && html`<button class="plain" onClick=${copy}>${isCopied ? t("address.copied") : t("address.copy")}</button>`}
    </section>
  `;
}
