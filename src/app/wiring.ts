/** The third phase of a start: the units with their services, and the surface that shows and steers them. Nothing runs yet. */
import { createFleetConsole } from "../cluster/fleet/index.ts";
import { createRecoveryConsole, judgedHealth } from "../cluster/index.ts";
import {
  type AuditReport,
  auditWiring,
  createUnitRuntime,
  runtimeFacts,
  type UnitRuntime,
  why,
  whyFacts,
} from "../daemons/index.ts";
import type { Rows } from "../events/index.ts";
import { defined } from "../kernel/index.ts";
import { createPipelineConsole, stageJobs } from "../pipeline/index.ts";
import { linksOf, type Phase, troubleFacts } from "../surfaces/index.ts";
import type { BootstrapOptions } from "./bootstrap-options.ts";
import { type BringUp, createBringUp } from "./bring-up.ts";
import { createCauses, healthWith } from "./causes/causes.ts";
import { workFacts } from "./causes/facts.ts";
import { namedWhy } from "./causes/named.ts";
import { whyConfig } from "./causes/why-config.ts";
import { whyFile } from "./causes/why-file.ts";
import { whyJobOrNode } from "./causes/why-job-or-node.ts";
import { withRented } from "./causes/why-rented.ts";
import { socketPathFor } from "./data-folder/socket-path.ts";
import { readToken } from "./data-folder/token.ts";
import type { Ground } from "./ground.ts";
import { profileOf } from "./profile.ts";
import { readRecordedWiring } from "./recorded-wiring.ts";
import { liveRegistry, withOwnUnits } from "./registry.ts";
import type { AppServices } from "./services.ts";
import { serveControl } from "./serving.ts";
import { diskOf } from "./worker/disk-room.ts";

/** How far the process is, and how it is told to end. */
export interface Life {
  readonly phase: () => Phase;
  readonly shutdown: (reason: string, actor: string) => void;
}

export function wireUnits<R extends Rows>(
  options: BootstrapOptions<R>,
  ground: Ground,
  services: AppServices,
  { phase, shutdown }: Life,
) {
  const { settings, store, uses, clock, random, log, metrics, version, started } = ground;
  const { router, supervisor, cluster, work, files } = services;
  const { units: own = [], wrapUnit = (unit) => unit } = options;
  const fleetConsole = createFleetConsole(services.fleet);
  const control = serveControl({
    settings,
    socketPath: socketPathFor(settings.dataDir),
    localToken: settings.token?.reveal() ?? readToken(settings.dataDir),
    clock,
    random,
    log,
    ports: {
      settings: settings.report,
      router,
      store,
      version,
      daemons: supervisor,
      metrics,
      phase,
      readiness: () => units.readiness(),
      units: (names) => units.status(names),
      started,
      audit: () => audit(),
      wiringOf: (eventType) => ({
        emitters: [...registry.units, ...registry.parts]
          .filter(({ emits }) => (emits as readonly string[]).includes(eventType))
          .map(({ name }) => name),
        hearers: registry.units
          .filter(({ hears }) => (hears as readonly string[]).includes(eventType))
          .map(({ name }) => name),
      }),
      why: (subject) => {
        const found =
          whyJobOrNode(subject, {
            ...{ queue: work.queue, book: cluster.nodes, recovery: cluster.recovery, now: clock.now(), localRoom },
            links: (nodeId) => linksOf(nodeId, cluster.nodes, services.copies),
          }) ??
          whyConfig(subject, causes.snapshot(subject), jobsOf) ??
          whyFile(subject, services.library) ??
          why(
            subject,
            whyFacts({ now: clock.now(), registry, manager: supervisor, runtime: units, router, store, profile }),
          );
        const rented =
          found?.kind === "node" ? withRented(found, cluster.nodes.find(subject).node_id, fleetConsole) : found;
        return namedWhy(rented, named);
      },
      health: () => healthWith(judgedHealth(store, clock.now(), units, supervisor), causes.all()),
      causes: () => causes.all(),
      alerts: cluster.alerts,
      bootstrapStatus: () => ({ ...bringUp.status() }),
      work,
      nodes: {
        book: cluster.nodes,
        gate: cluster.gate,
        refusals: cluster.refusals,
        idleRequests: cluster.idleRequests,
        reach: cluster.reach,
        version,
        health: cluster.health,
        availability: cluster.availability,
      },
      recovery: {
        ...createRecoveryConsole(cluster),
        // A restart that another leader may have taken back is not handed out.
        orderFor: (node, incarnation) =>
          options.term?.cluster.isTrusted() === false ? null : cluster.recovery.orderFor(node, incarnation),
      },
      nodeId: settings.nodeId,
      cluster: options.term?.cluster,
      memberFiles: services.memberFiles,
      locks: services.locks,
      artifacts: files,
      library: services.library,
      copies: services.copies,
      disk: services.disk,
      fetches: () => services.sync.sources.granted(),
      sync: services.facade,
      backups: services.backups,
      imports: services.imports,
      fleet: fleetConsole,
      pipeline: {
        ...createPipelineConsole({ router, store, clock, queue: work.queue, catalog: services.catalog }),
        snapshot: (only) => causes.snapshot(only),
      },
      shutdown,
    },
  });
  services.door.invite = async (label, expiresMs) => {
    const order = { label, scope: "worker", expiresInSeconds: expiresMs / 1_000, joinUses: 1 } as const;
    const { token } = await control.tokens.issue(order, "provisioner");
    const install = settings.fleet.program ?? `ringrift-coordination@${version}`;
    return { ...control.address(), token, program: { install } };
  };
  const live = liveRegistry({
    daemons: { ...services.daemons, surface: control.kept },
    cluster,
    fleet: services.fleet,
    work,
    sync: services.sync,
    pipeline: services.pipeline,
  });
  const profile = profileOf(options.profile ?? settings.profile, live.units, own);
  const registry = withOwnUnits({ ...live, units: live.units.map(wrapUnit).map(uses.wrap) }, own.map(uses.wrap));
  const units: UnitRuntime = createUnitRuntime({ registry, router, clock, log, manager: supervisor });
  const audit = async (): Promise<AuditReport> => {
    // What only people look at is looked at here, so that it does not pass for what nobody reads.
    causes.all();
    return auditWiring(registry, {
      ...defined({ recorded: readRecordedWiring() }),
      facts: await runtimeFacts(store, router, [...units.heldBack()]),
      uses: { seen: uses.seen(), now: clock.now() },
    });
  };
  const bringUp: BringUp = createBringUp({
    registry,
    units,
    router,
    clock,
    log,
    profile,
    problems: () => (store.fault === null ? [] : [`the store refuses to commit: ${store.fault.message}`]),
  });
  const status = {
    router,
    daemons: supervisor,
    units: () => units.status(),
    readiness: () => units.readiness(),
    openAlerts: () => cluster.alerts.counts(),
    pipeline: services.snapshot,
    work: { ...work, nodes: cluster.nodes, artifacts: files, store, disk: services.disk },
    phase,
    clock,
    started,
    version,
  };
  const jobsOf = (configKey: string) => stageJobs({ store }, configKey).flatMap((id) => work.queue.show(id) ?? []);
  const isJudged = () => units.outcomes().some(({ name }) => name === "health_manager");
  const named = (text: string) => cluster.nodes.named(text);
  const localRoom = settings.localWorkers === 0 ? undefined : diskOf(settings);
  const causes = createCauses({
    now: () => clock.now(),
    named,
    pipeline: services.snapshot,
    standings: services.standings,
    jobsOf,
    work: () => workFacts({ queue: work.queue, book: cluster.nodes, now: clock.now(), localRoom }),
    daemons: () => supervisor.report(),
    fault: () => store.fault,
    troubles: () => troubleFacts(status),
    openAlerts: () => cluster.alerts.counts("open"),
    nodes: () => cluster.nodes.list(),
    health: () => (isJudged() ? judgedHealth(store, clock.now(), units, supervisor) : undefined),
  });
  return { registry, units, control, bringUp, audit, status, causes };
}

export type Wired = ReturnType<typeof wireUnits>;
