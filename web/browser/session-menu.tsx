/** Who looks, and what that one may do. */
import { endSession } from "../../src/surfaces/session/wire.ts";
import { useApp } from "./app.ts";

export function SessionMenu() {
  const { api, session } = useApp();
  if (session === undefined) return null;
  const mayWrite = session.scope === "operator";
  const end = async () => {
    await api.call(endSession);
    location.reload();
  };
  return (
    <span
      class="session"
      title={mayWrite ? "You may change things." : "You may look. 'ringrift open' lets you change things."}
    >
      <span class={mayWrite ? "scope operator" : "scope"}>{mayWrite ? "operator" : "read only"}</span>
      {session.is_browser && (
        <button type="button" class="quiet" onClick={() => void end()}>
          Log out
        </button>
      )}
    </span>
  );
}
