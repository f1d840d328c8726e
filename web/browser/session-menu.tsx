/** Who looks, and what that one may do. */
import { endSession } from "../../src/surfaces/session/wire.ts";
import { useApp } from "./app.ts";
import { ShareButton } from "./share.tsx";

export function SessionMenu() {
  const { api, session } = useApp();
  if (session === undefined) return null;
  const mayWrite = session.scope === "operator";
  const isShare = session.path !== null;
  const end = async () => {
    await api.call(endSession);
    location.reload();
  };
  return (
    <span
      class="session"
      title={
        isShare
          ? `Somebody shared ${session.path} with you. You may look.`
          : mayWrite
            ? "You may change things."
            : "You may look. 'ringrift open' lets you change things."
      }
    >
      <span class={mayWrite ? "scope operator" : "scope"}>
        {isShare ? "shared, read only" : mayWrite ? "operator" : "read only"}
      </span>
      {mayWrite && <ShareButton />}
      {session.is_browser && (
        <button type="button" class="quiet" onClick={() => void end()}>
          Log out
        </button>
      )}
    </span>
  );
}
