// The house: imports go down, never up; rooms on one floor never import each other; a room is entered by its index.ts.
// A test stands outside of the house: it may look at the whole to prove a part.
const { existsSync, readdirSync } = require("node:fs");
const { join } = require("node:path");

const floors = [
  ["kernel"],
  ["events"],
  ["router"],
  ["daemons"],
  ["work", "cluster", "sync"],
  ["pipeline"],
  ["adapters", "workloads", "surfaces"],
  ["app"],
];
// Rooms of the pipeline, lowest first: each imports from those below it, through their index.ts.
const pipeline = [
  "stage",
  "statistics",
  "models",
  "selfplay",
  "data",
  "training",
  "evaluation",
  "promotion",
  "steering",
];
const any = (rooms) => `^src/(${rooms.join("|")})/`;
const tests = "\\.(test|contract)\\.ts$";
// Every folder with an index.ts is a room, the inner ones too. dependency-cruiser runs where `src` is.
const roomsIn = (folder) =>
  !existsSync(folder)
    ? []
    : readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .flatMap(({ name }) => {
          const inner = `${folder}/${name}`;
          return [...(existsSync(join(inner, "index.ts")) ? [inner] : []), ...roomsIn(inner)];
        });
// The writer's thread opens the store with the tables of all rooms and nothing else of them.
const storeList = "^src/app/store-modules\\.ts$";
// Words and numbers of a room, for those who must not wait until all of it is loaded; they load nothing else of it.
const light = [
  "^src/([^/]+|cluster/fleet)/settings\\.ts$",
  "^src/(cluster/alerts/alert|cluster/nodes/(identity|states)|cluster/node-health/conditions|cluster/recovery/rungs|daemons/cause(-levels|-schema)?|daemons/limits|events/fields|events/instant)\\.ts$",
  "^src/(pipeline/snapshot|pipeline/stage/(knob-names|stages)|work/(limits|slots-words)|work/job/(failure|job|kinds|needs|plausible|retry-rules|states|urgency))\\.ts$",
  "^src/router/(store\\.port|sql-rows)\\.ts$",
  "^src/sync/(states|copies/policy|facade/request|orders/order|backup/words)\\.ts$",
];
// A command is loaded by itself, so the program enters a feature by the file that is about it.
const commands = "^src/app/commands/";
const features = "^src/surfaces/[^/]+/(wire|[a-z.]*command)\\.ts$";

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    ...floors.slice(0, -1).map((rooms, i) => ({
      name: `no-upward-from-${rooms.join("-")}`,
      severity: "error",
      from: { path: any(rooms), pathNot: tests },
      to: { path: any(floors.slice(i + 1).flat()) },
    })),
    ...floors
      .filter((floor) => floor.length > 1)
      .flatMap((floor) =>
        floor.map((room) => ({
          name: `siblings-of-${room}-speak-in-events`,
          severity: "error",
          from: { path: any([room]), pathNot: tests },
          to: { path: any(floor.filter((other) => other !== room)) },
        })),
      ),
    ...pipeline.map((room, i) => ({
      name: `no-upward-from-pipeline-${room}`,
      severity: "error",
      from: { path: `^src/pipeline/${room}/`, pathNot: tests },
      to: {
        path: `^src/pipeline/(${[...pipeline.slice(i + 1).map((above) => `${above}/`), "[^/]+\\.ts$", "units/"].join("|")})`,
      },
    })),
    ...roomsIn("src").flatMap((room) =>
      [
        [{ path: "^(src|tools|examples)/", pathNot: [`^${room}/`, tests, storeList, commands] }, light],
        [{ path: commands, pathNot: tests }, [...light, features]],
      ].map(([from, doors]) => ({
        name: "through-index",
        comment: `import ${room}/index.ts; what it does not list is for the room itself`,
        severity: "error",
        from,
        to: { path: `^${room}/`, pathNot: ["/index\\.ts$", ...doors] },
      })),
    ),
    {
      name: "light-loads-nothing",
      severity: "error",
      from: { path: light, pathNot: "^src/app/" },
      to: {
        path: "^src/",
        pathNot: [...light, "^src/kernel/", "/(bounds|limits)\\.ts$"],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "no-room-imports-the-front-door",
      severity: "error",
      from: { path: any(floors.flat()), pathNot: tests },
      to: { path: "^src/(index|client)\\.ts$" },
    },
    {
      name: "no-dev-dependencies-in-src",
      severity: "error",
      from: { path: "^src/", pathNot: tests },
      to: { dependencyTypes: ["npm-dev"] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
  },
};
