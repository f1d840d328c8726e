import { type Debugger, Session } from "node:inspector";

/** Frames that are shown; deeper ones say nothing about who blocks. */
const MAX_FRAMES = 20;

/**
 * The stack of the main thread, asked for from another thread. It also comes out of a busy loop: the debugger interrupts it
 * for a moment. While native code blocks there is nothing to interrupt; the stack comes when that returns, and still names
 * who called it. Connecting costs some milliseconds, so it happens only when there is an alarm.
 */
export function captureMainStack(onStack: (frames: readonly string[]) => void): { stop(): void } {
  const session = new Session();
  const scripts = new Map<string, string>();
  let over = false;
  const stop = () => {
    if (over) return;
    over = true;
    // Disabling also takes back a pause that has not happened; the session may be gone already.
    session.post("Debugger.disable", () => session.disconnect());
  };
  session.connectToMainThread();
  session.on("Debugger.scriptParsed", ({ params }) => void scripts.set(params.scriptId, params.url));
  session.on("Debugger.paused", ({ params }) => {
    session.post("Debugger.resume");
    if (over) return;
    onStack(params.callFrames.slice(0, MAX_FRAMES).map((frame) => frameLine(frame, scripts)));
    stop();
  });
  session.post("Debugger.enable");
  session.post("Debugger.pause");
  return { stop };
}

/** As in the stack of an error. */
function frameLine({ functionName, location }: Debugger.CallFrame, scripts: ReadonlyMap<string, string>): string {
  const place = `${scripts.get(location.scriptId) ?? "?"}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1}`;
  return functionName === "" ? `at ${place}` : `at ${functionName} (${place})`;
}
