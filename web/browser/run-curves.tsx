/** The newest training runs of a config: the loss within each of them, step by step. */
import { plural } from "../../src/surfaces/cli/text.ts";
import { listCurves } from "../../src/surfaces/queue/wire.ts";
import { Curve, drawnOf, STYLES } from "./curve-figure.tsx";
import { Empty, Links, Load, Panel } from "./parts.tsx";
import { useAnswer } from "./use-answer.ts";

export function RunCurves({ config }: { config: string }) {
  const loaded = useAnswer(listCurves, { params: { config }, query: { limit: STYLES.length } });
  return (
    <Panel title="Loss, step by step" aside={`the newest ${plural(STYLES.length, "run")}`}>
      <Load loaded={loaded}>
        {({ runs }) => {
          const lines = runs
            .map(({ work_id, state, curves }) =>
              drawnOf(state === "running" ? `${work_id}, now` : work_id, curves.at(-1)?.points ?? [], "loss"),
            )
            .filter(({ points }) => points.length > 1);
          return lines.length === 0 ? (
            <div class="empty">
              <Empty
                title="No run has told its losses step by step yet."
                todo="A training program does with 'progress' and 'metrics' (docs/41-workloads.md); the built-in one does by itself."
              />
            </div>
          ) : (
            <>
              <Curve title={`Loss of the newest runs of ${config}`} lines={lines} />
              <div class="more">
                <Links links={runs.map(({ work_id }) => ({ to: `/work/${work_id}`, name: work_id }))} />
              </div>
            </>
          );
        }}
      </Load>
    </Panel>
  );
}
