/** Whether a session is likely there. The cookie itself no script can see; the API has the last word. */
const KEPT = "easyloop.session_ends";

export const keepSession = (endsAt) => localStorage.setItem(KEPT, endsAt);
export const forgetSession = () => localStorage.removeItem(KEPT);
export const isSignedIn = () => new Date(localStorage.getItem(KEPT) ?? 0) > new Date();
