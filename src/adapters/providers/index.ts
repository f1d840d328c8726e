/**
 * providers: where machines come from, each behind the one port of the fleet. Every answer is checked and bounded, and the key of an
 * account goes into the header of its requests and nowhere else.
 */
export { hetznerProvider } from "./hetzner/hetzner-provider.ts";
export { lambdaProvider } from "./lambda/lambda-provider.ts";
export { localProvider } from "./local/local-provider.ts";
export { nebiusHosts, nebiusProvider } from "./nebius/nebius-provider.ts";
export { runPodProvider } from "./runpod/runpod-provider.ts";
export { slurmProvider } from "./slurm/slurm-provider.ts";
export { sshProvider } from "./ssh/ssh-provider.ts";
export { vastProvider } from "./vast/vast-provider.ts";
