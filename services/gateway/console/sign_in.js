/** Changes the admin key into a session; the page itself keeps no key. */
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { call } from "./api.js";
import { useAction } from "./loading.js";
import { Trouble } from "./notice.js";
import { keepSession } from "./signed_in.js";
import { t } from "./words.js";

export function SignIn({ done }) {
  const [key, setKey] = useState("");
  const { run, isBusy, failure } = useAction(async () => {
    const session = await call("POST", "/v1/session", undefined, { Authorization: `Bearer ${key.trim()}` });
    keepSession(session.ends_at);
    done();
  });
  const submit = (event) => {
    event.preventDefault();
    run();
  };
  return html`
    <form class="card narrow" onSubmit=${submit}>
      <h1>${t("sign_in.title")}</h1>
      <p class="quiet">${t("sign_in.where")}</p>
      <input type="text" autocomplete="username" value="admin" readonly hidden />
      <div>
        <label for="key">${t("sign_in.key")}</label>
        <input id="key" type="password" autocomplete="current-password" required value=${key}
          onInput=${(event) => setKey(event.target.value)} />
      </div>
      <${Trouble} failure=${failure} />
      <button disabled=${isBusy || !key.trim()}>${t("sign_in.go")}</button>
    </form>
  `;
}
