import { handle, type Route } from "../http/route.ts";
import { decisionOf, pipelineOf } from "../pipeline/routes.ts";
import { getSteering, holdKnob, releaseKnob, searchParameters } from "./wire.ts";

export const steeringRoutes: readonly Route[] = [
  handle(getSteering, ({ ports }) => pipelineOf(ports).steering()),
  handle(holdKnob, (call) =>
    pipelineOf(call.ports).hold(call.params.config, call.params.knob, call.body.value, decisionOf(call)),
  ),
  handle(searchParameters, (call) =>
    pipelineOf(call.ports).search(call.params.config, decisionOf(call), call.body.method),
  ),
  handle(releaseKnob, (call) =>
    pipelineOf(call.ports).hold(call.params.config, call.params.knob, null, decisionOf(call)),
  ),
];
