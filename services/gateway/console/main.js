/** Starts the console. */
import { render } from "preact";
import { html } from "htm/preact";
import { Shell } from "./shell.js";
import { applyTheme } from "./theme.js";
import { speak } from "./words.js";

applyTheme();
await speak();
render(html`<${Shell} />`, document.getElementById("console"));
