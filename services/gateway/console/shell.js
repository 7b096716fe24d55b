/** The frame of every page, or the sign-in. */
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "./api.js";
import { Dataset } from "./dataset.js";
import { Datasets } from "./datasets.js";
import { Operations } from "./operations.js";
import { useRoute } from "./route.js";
import { SignIn } from "./sign_in.js";
import { forgetSession, isSignedIn } from "./signed_in.js";
import { switchTheme } from "./theme.js";
import { LANGUAGES, choose, t, useLanguage } from "./words.js";

export function Shell() {
  useLanguage();
  const route = useRoute();
  const [isIn, setIn] = useState(isSignedIn());
  useEffect(() => {
    const out = () => {
      forgetSession();
      setIn(false);
    };
    window.addEventListener("signed-out", out);
    return () => window.removeEventListener("signed-out", out);
  }, []);
  const signOut = () => call("DELETE", "/v1/session").finally(() => window.dispatchEvent(new Event("signed-out")));
  return html`
    <a class="skip" href="#main" onClick=${skip}>${t("shell.skip")}</a>
    <${Top} isIn=${isIn} area=${route[0]} signOut=${signOut} />
    <main id="main" tabindex="-1">
      ${!isIn && html`<${SignIn} done=${() => setIn(true)} />`}
      ${isIn && html`<${Page} route=${route} />`}
    </main>
  `;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function Top({ isIn, area, signOut }) {
  const is = (name) => ((area ?? "datasets") === name ? "page" : undefined);
  return html`
    <header class="top">
      <a class="brand" href="#/"><img src="/console/icon.svg" alt="" />EasyLoop</a>
      ${isIn &&
      html`<nav aria-label=${t("shell.areas")}>
        <a href="#/datasets" aria-current=${is("datasets")}>${t("shell.datasets")}</a>
        <a href="#/operations" aria-current=${is("operations")}>${t("shell.operations")}</a>
      </nav>`}
      <div class="row">
        <${Language} />
        <button class="bare" onClick=${switchTheme}>${t("shell.theme")}</button>
        ${isIn && html`<button class="bare" onClick=${signOut}>${t("shell.sign_out")}</button>`}
      </div>
    </header>
  `;
}

function Language() {
  const next = useLanguage() === "en" ? "zh" : "en";
  return html`<button class="bare" lang=${next} onClick=${() => choose(next)}>${LANGUAGES[next]}</button>`;
}

function Page({ route }) {
  const [area, ...rest] = route;
  if (area === "operations") return html`<${Operations} />`;
  if (area === "datasets" && rest[0]) return html`<${Dataset} key=${rest[0]} id=${rest[0]} step=${rest[1] ?? "data"} />`;
  return html`<${Datasets} />`;
}
